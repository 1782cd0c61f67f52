import Deliver
import Expand
import Ingest
import Kafka
import Model
import Record
import Render
import Telemetry

/// A segment: claim → expand → render → deliver → record.
extension Lane {
  /// Pushes that would expire before they are tried again stay where they are until then.
  private static let shortestStraggle: Duration = .milliseconds(1500)
  private static let longestStay: Duration = .seconds(5)
  /// While the last pushes in flight are answered, those among them that must wait leave.
  private static let lingerStep: Duration = .milliseconds(200)

  /// Does one segment from its followers to its counters, unless somebody has done it or does it.
  ///
  /// - Parameter vacate: called when all pushes of the segment were tried, before it ends.
  func process(
    _ bid: SegmentBid, from message: KafkaMessage, vacate: @escaping () -> Void
  ) async throws -> Receipt {
    let claim = bid.claim
    let answer = try await claims.ask(bid, from: message)
    let run = SegmentRun(claim: claim, loop: loop, memory: memory, vacate: vacate)
    run.recordBytes = message.valueBytes
    switch answer.result {
    case .settled, .orphaned: return .done
    case .unplanned: return try await delays.putOffUnplanned(claim.segment, message, vacate)
    case .claimed(let milliseconds):
      return .again(after: min(.milliseconds(milliseconds), options.claimLifetime / 10))
    case .yours(let redisTime):
      bidder.won()
      run.isLate = claim.segment.event.isExpired(at: redisTime)
    }
    run.holds(since: answer.asked, for: options.claimLifetime)
    runs.begin(run)
    defer { runs.end(run) }
    do {
      try await send(run, to: bid)
      try await linger(run)
      try await settle(run)
    } catch {
      deliver.abandon(run.tally)
      guard !run.isLost else { return .again(after: options.claimLifetime / 10) }
      // While the lane stops, all claims are released together.
      guard !isStopping else { throw error }
      await drop(run)
      await claims.release(claim)
      throw error
    }
    return .done
  }

  /// Hands all pushes of the segment to Deliver, page by page.
  private func send(_ run: SegmentRun, to bid: SegmentBid) async throws {
    let segment = run.segment
    let event = try prepared.prepare(segment.event)
    let reader = expand.reader(
      of: await bidder.followers(of: bid), fields: event.fieldNames, topic: event.event.app,
      now: options.deliver.wallClock)
    var listed = 0
    while let page = try await nextPage(reader, of: event.event) {
      try check(run)
      if let index = run.index { listed += index.keepListed(of: page) }
      let rendering = render.batches(
        of: page, for: event, tally: run.tally, maximumPushes: options.limits.batchPushes)
      if isLate(run) {
        rendering.settleRest(
          as: .expired, unanswered: run.index?.countUnanswered(in: page) ?? 0)
        continue
      }
      while let batch = rendering.next() {
        run.index?.setHistories(of: batch)
        run.progress.watch(batch)
        await deliver.admit(batch)
        try await makeRoom(run)
      }
      run.findings.add(
        try await retry.persistent("Redis takes verdicts on tokens") {
          try await record.pruneSurplus(segment, run.tally, now: options.deliver.wallClock())
        })
    }
    // What is on the list and no longer bound was logged out, or its owner muted, meanwhile; or it
    // could not be read in time.
    if let index = run.index, index.count > listed {
      run.tally.pushes += index.count - listed
      run.tally.count(isLate(run) ? .expired : .cancelled, times: index.count - listed)
    }
  }

  private func isLate(_ run: SegmentRun) -> Bool {
    run.isLate || run.segment.event.isExpired(at: options.deliver.wallClock())
  }

  /// Waits until one more batch may be rendered. Pushes that only wait make room by leaving.
  private func makeRoom(_ run: SegmentRun) async throws {
    // Another segment may have taken the room that there was.
    while !(await run.progress.reached(.roomOrStalled)) { try check(run) }
    try check(run)
    // Where all of a lane take too much, pushes in a short back-off are not those that do.
    var limit = run.progress.waitsForOthers ? options.straggleAfter : .zero
    while !(await run.progress.reached(.room, within: limit)) {
      try check(run)
      limit = .zero
      deliver.postponeWaiting(of: run.tally)
      _ = await run.progress.reached(.room, within: Self.lingerStep)
      try check(run)
    }
    if run.tally.stragglers.count >= StragglerRecord.maximumPushes {
      try await writeStragglers(run)
    }
  }

  /// Leaves the place when every push was tried, and waits for the rest; what still waits for
  /// another try after `straggleAfter` becomes stragglers.
  private func linger(_ run: SegmentRun) async throws {
    _ = await run.progress.reached(.nothingUnsent)
    try check(run)
    var limit = Self.lingerStep
    if runs.mayLinger(run) {
      // Until it is recorded: while nobody takes records, no more are begun.
      run.isLingering = true
      run.leavePlace()
      // What waits for a closed route waits elsewhere, and leaves room to what comes back soon.
      if !deliver.waitsForClosedRoute(run.tally) { limit = options.straggleAfter }
    }
    var isSettled = await run.progress.reached(.allSettled, within: limit)
    while !isSettled {
      try check(run)
      if times.left(until: run.segment.event.expiresAt) > shortestStraggle(run) {
        deliver.postponeWaiting(of: run.tally)
      }
      isSettled = await run.progress.reached(.allSettled, within: Self.lingerStep)
    }
    try check(run)
  }

  /// Near the expiry the order of the stragglers' topic would make a last try come too late: who
  /// keeps no place stays where it is.
  private func shortestStraggle(_ run: SegmentRun) -> Duration {
    guard run.isLingering, !deliver.waitsForClosedRoute(run.tally) else {
      return Self.shortestStraggle
    }
    return Self.shortestStraggle + min(options.straggleDelay, Self.longestStay)
  }

  private func check(_ run: SegmentRun) throws {
    guard !isStopping, !run.isLost else { throw RetryUntilStopped.Stopped() }
  }

  private func nextPage(
    _ reader: SegmentReader, of event: Event
  ) async throws -> RecipientPage? {
    defer {
      for skipped in reader.takeSkippedUsers() {
        options.log.warning(
          "user passed over",
          [
            "event": .text(event.id), "user": .text(skipped.user),
            "reason": .text(skipped.reason),
          ])
      }
    }
    do {
      return try await retry.persistent("Redis has the followers") { try await reader.next() }
    } catch let error as ExpandError where error.code == .expired {
      // Too slow for too long: nobody who is left can be told in time.
      options.log.warning(
        "event expired before all followers were read",
        ["event": .text(event.id), "error": .text("\(error)")])
      return nil
    }
  }

  private func settle(_ run: SegmentRun) async throws {
    if !run.tally.stragglers.isEmpty { try await writeStragglers(run) }
    let segment = run.segment
    let settlement = try await retry.persistent("Redis takes the counters") {
      try await record.settle(
        segment, run.tally, stragglers: run.written, owner: run.claim.owner,
        now: options.deliver.wallClock())
    }
    guard case .recorded(let settled) = settlement else {
      counters.add(.segmentsAlreadySettled)
      return
    }
    run.findings.add(settled.findings)
    counters.count(run.tally, run.findings)
    if run.findings.withheld > 0 {
      options.log.error(
        "Apple calls tokens unusable and takes too few of the same app and environment: "
          + "are both right? None was set aside",
        ["event": .text(segment.event.id), "tokens": .integer(run.findings.withheld)])
    }
    if let figures = settled.fanOut {
      options.log.fanOutEnded(segment.event, figures, isComplete: settled.isComplete)
    }
  }
}
