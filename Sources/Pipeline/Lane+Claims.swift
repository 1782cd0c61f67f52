import EventLoop
import Expand
import Ingest
import Kafka
import Model
import Record
import Telemetry
import Text

/// The claims of the segments that a lane works on.
extension Lane {
  /// For the last words of a stopping lane: a claim that is not released ends by itself.
  private static let releaseTimeout: Duration = .seconds(1)

  /// Begins to read the segment's followers: they come with the answer to the question whether the
  /// segment is ours, and are thrown away when it is not. How many come in vain is bounded.
  func bid(on segment: Segment, audience: Audience? = nil) -> SegmentBid {
    lastRun += 1
    let claim = Claim(
      segment: segment, owner: "\(options.workerID)/\(options.instance)/\(index).\(lastRun)")
    let followers = expand.followers(of: segment, audience: audience)
    let isReadAhead = !followers.beginsWithMembers || readAheadCredit.take()
    return SegmentBid(
      claim: claim, followers: followers,
      reading: isReadAhead ? Task { await readAhead(followers) } : nil, began: loop.now)
  }

  private func readAhead(_ followers: FollowerSource) async { await followers.readAhead() }

  /// The segment's followers as they are about now: what was read long before the segment was known
  /// to be ours is read again, since people have followed and left meanwhile.
  func followers(of bid: SegmentBid) async -> FollowerSource {
    guard let reading = bid.reading else { return bid.followers }
    await reading.value
    guard loop.now &- bid.began > options.readAheadLifetime.nanoseconds else {
      return bid.followers
    }
    bid.followers.finish()
    return expand.followers(of: bid.claim.segment)
  }

  func ask(_ bid: SegmentBid, from message: KafkaMessage) async throws -> SegmentBid.Answer {
    let claim = bid.claim
    var known = bid.answer
    return try await retry.persistent("Redis knows the segment") {
      let asked = known?.asked ?? loop.now
      var result: ClaimResult
      if let known {
        result = known.result
      } else {
        result = try await record.claim(claim, lifetime: options.claimLifetime)
      }
      known = nil
      if result == .unplanned, isAdoptable(message) { result = try await adopt(claim) }
      if case .yours(let time) = result { try clock.check(claim.segment.event, redisTime: time) }
      return SegmentBid.Answer(result: result, asked: asked)
    }
  }

  /// The age travels with the record, through all hands that put it off. Time in which nobody read
  /// it does not count: the worker that the parent waits for may have been away as well.
  private func isAdoptable(_ message: KafkaMessage) -> Bool {
    let now = options.deliver.wallClock()
    let label = StragglerLabel(message)
    let due = min(label.notBefore ?? now, now)
    let wait = options.straggleDelay + options.adoptAfter
    return due - writtenAt(message, label) >= wait.wholeMilliseconds
  }

  private func adopt(_ claim: Claim) async throws(RecordError) -> ClaimResult {
    let result = try await record.adopt(
      claim, lifetime: options.claimLifetime, now: options.deliver.wallClock())
    if case .yours = result {
      options.log.warning(
        "nobody settled the segment that stragglers left: they are sent without it",
        ["event": .text(claim.segment.event.id), "segment": .text(claim.segment.id)])
    }
    return result
  }

  /// Renews every claim now and then until the lane stops. A claim that is not renewed ends, and
  /// nothing more is sent under it.
  func renewClaims() {
    guard !isStopping else { return }
    Task { await renewNow() }
    loop.schedule(after: options.claimLifetime / 3) { [weak self] in
      self?.assumeIsolated { $0.renewClaims() }
    }
  }

  private func renewNow() async {
    for runs in Dictionary(grouping: runs.values, by: { $0.segment.event.id }).values {
      // A stopping lane releases its claims: none of them may come back.
      guard !isStopping else { return }
      let asked = loop.now
      do {
        let held = try await record.renew(runs.map(\.claim), lifetime: options.claimLifetime)
        for (run, isHeld) in zip(runs, held) { renewed(run, isHeld, asked) }
      } catch {
        options.log.warning("claims not renewed", ["error": .text("\(error)")])
      }
    }
  }

  private func renewed(_ run: SegmentRun, _ isHeld: Bool, _ asked: UInt64) {
    // It may have ended while Redis was asked.
    guard runs[ObjectIdentifier(run)] === run else { return }
    if isHeld {
      run.holds(since: asked, for: options.claimLifetime)
      return
    }
    options.log.warning(
      "another worker has the segment; this one was too slow",
      ["event": .text(run.segment.event.id), "segment": .text(run.segment.id)])
    run.lose()
  }

  func release(_ claim: Claim) async {
    do {
      try await record.release(claim)
    } catch {
      options.log.debug("claim not released", ["error": .text("\(error)")])
    }
  }

  /// What a failed run has written is nobody's to send.
  func drop(_ run: SegmentRun) async {
    do {
      try await record.drop(run.written.map(\.id), of: run.segment.event)
    } catch {
      options.log.warning("stragglers not dropped", ["error": .text("\(error)")])
    }
  }

  func releaseClaims() async {
    let claims = runs.values.map(\.claim)
    guard !claims.isEmpty else { return }
    // Redis may be away: what waits for it ends with the connection.
    let deadline = loop.schedule(after: Self.releaseTimeout) { [weak self] in
      self?.assumeIsolated { $0.redis.close() }
    }
    for claim in claims { await release(claim) }
    deadline.cancel()
  }
}
