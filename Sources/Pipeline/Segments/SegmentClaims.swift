import EventLoop
import Expand
import Ingest
import Kafka
import Model
import Record
import Telemetry
import Text

/// The claims of the segments that a lane works on: asked for, while the segments' users are read
/// already, renewed, lost and released. Confined to its lane.
final class SegmentClaims {
  /// For the last words of a stopping lane: a claim that is not released ends by itself.
  private static let releaseTimeout: Duration = .seconds(1)

  /// A claim outlives two renewals that fail.
  private static let renewalsInALifetime = 3

  private let lane: LaneContext
  private let clock: ClockWatch
  private let runs: SegmentRuns
  private var credit: ReadAheadCredit
  private var lastRun = 0

  init(_ lane: LaneContext, clock: ClockWatch, runs: SegmentRuns) {
    self.lane = lane
    self.clock = clock
    self.runs = runs
    // The most that may be under way at a time, so that a burst of new events waits for no credit.
    credit = ReadAheadCredit(maximum: lane.options.limits.events)
  }

  // MARK: bids

  /// Begins to read the segment's users: they come with the answer to the question whether the
  /// segment is ours, and are thrown away when it is not. How many come in vain is bounded.
  func bid(
    on segment: Segment, audience: Audience? = nil, isolation: isolated any Actor = #isolation
  ) -> SegmentBid {
    lastRun += 1
    let options = lane.options
    let claim = Claim(
      segment: segment,
      owner: "\(options.workerID)/\(options.instance)/\(lane.index).\(lastRun)")
    let users = lane.expand.users(of: segment, audience: audience)
    let isReadAhead = !users.beginsWithMembers || credit.take()
    return SegmentBid(
      claim: claim, users: users,
      reading: isReadAhead ? readAhead(users, isolation) : nil, began: lane.loop.now)
  }

  private func readAhead(
    _ users: SegmentUsers, _ isolation: isolated any Actor
  ) -> Task<Void, Never> {
    lane.loop.task(on: isolation) {
      await users.readAhead()
    }
  }

  /// A segment that was asked for was ours.
  func won() { credit.earn() }

  /// The segment's users as they are about now: what was read long before the segment was known
  /// to be ours is read again, since people have followed and left meanwhile.
  func users(of bid: SegmentBid) async -> SegmentUsers {
    guard let reading = bid.reading else { return bid.users }
    await reading.value
    guard lane.loop.now &- bid.began > lane.options.readAheadLifetime.nanoseconds else {
      return bid.users
    }
    bid.users.finish()
    return lane.expand.users(of: bid.claim.segment)
  }

  func ask(
    _ bid: SegmentBid, for run: SegmentRun, from message: KafkaMessage
  ) async throws -> SegmentBid.Answer {
    let claim = bid.claim
    var known = bid.answer
    return try await lane.retry.persistent(
      "claim the segment in Redis", for: claim.segment.event
    ) {
      let asked = known?.asked ?? lane.loop.now
      var result: ClaimResult
      if let known {
        result = known.result
      } else {
        result = try await lane.record.claim(
          claim, lifetime: lane.options.claimLifetime, now: lane.now)
        noteFormer(of: run, result)
      }
      known = nil
      if result == .unplanned, isAdoptable(message) {
        result = try await adopt(claim)
        noteFormer(of: run, result)
      }
      if case .yours(let time, _, _) = result {
        do {
          try clock.check(claim.segment.event, redisTime: time)
        } catch let error as RecordError where error.clockAhead != nil {
          // Releases the claim: another worker's clock may allow it.
          await release(run)
          throw error
        }
      }
      return SegmentBid.Answer(result: result, asked: asked)
    }
  }

  /// The age travels with the record, through all hands that deferred it. Time in which nobody read
  /// it does not count: the worker that the parent waits for may have been away as well.
  private func isAdoptable(_ message: KafkaMessage) -> Bool {
    let now = lane.now
    let label = StragglerLabel(message)
    let due = min(label.notBefore ?? now, now)
    let wait = lane.options.straggleDelay + lane.options.adoptAfter
    return due - label.timeWritten(message, now: now) >= wait.wholeMilliseconds
  }

  private func adopt(_ claim: Claim) async throws(RecordError) -> ClaimResult {
    let result = try await lane.record.adopt(
      claim, lifetime: lane.options.claimLifetime, now: lane.now)
    if case .yours = result {
      lane.log.warning(
        "nobody settled the segment that stragglers left: they are sent without it",
        .of(claim.segment.event, ["segment": .text(claim.segment.id)]))
    }
    return result
  }

  /// Logs that the pushes of a former owner, if there were any, are sent again. Counts an owner
  /// that let its claim end, not one that stopped in order, once.
  func noteFormer(of run: SegmentRun, _ result: ClaimResult) {
    guard let former = result.takenFrom, !run.tally.mayHaveBeenSent else { return }
    run.tally.mayHaveBeenSent = true
    guard !former.hasReleased else { return }
    lane.counters.add(.claimsTakenOver)
    lane.log.notice(
      "took over a segment whose owner let its claim end",
      .of(
        run.segment.event,
        [
          "segment": .text(run.segment.id),
          "from": .text(former.name),
        ]))
  }

  // MARK: renewals

  /// How often the lane calls `renew`.
  var renewalInterval: Duration { lane.options.claimLifetime / Self.renewalsInALifetime }

  /// A claim that is not renewed ends, and nothing more is sent under it. Each event's claims by
  /// themselves: where they stand on a master that is away, no other event waits for it.
  func renew(isolation: isolated any Actor = #isolation) {
    let all = runs.all
    let byEvent = Dictionary(grouping: all, by: \.segment.event.id)
    // In the order of each event's first run.
    for run in all {
      guard let runs = byEvent[run.segment.event.id], runs.first === run else { continue }
      lane.loop.task(on: isolation) { [self] in await renew(runs) }
    }
  }

  private func renew(_ runs: [SegmentRun]) async {
    // A stopping lane releases its claims: none of them may come back.
    guard !lane.timers.isStopped else { return }
    // Nor that of a run which has ended since.
    let runs = runs.filter(self.runs.contains)
    guard !runs.isEmpty else { return }
    let asked = lane.loop.now
    do {
      let renewals = try await lane.record.renew(
        runs.map(\.claim), lifetime: lane.options.claimLifetime)
      for (run, renewal) in zip(runs, renewals) { renewed(run, renewal, asked) }
    } catch {
      lane.log.warning("claims not renewed", ["error": .text("\(error)")])
    }
  }

  private func renewed(_ run: SegmentRun, _ renewal: Renewal, _ asked: UInt64) {
    switch run.take(.renewal(renewal)) {
    case .extendClaim: run.holds(since: asked, for: lane.options.claimLifetime)
    case .stopSending:
      lane.counters.add(.claimsLost)
      lane.log.warning(
        renewal == .settled
          ? "another worker has settled the segment; this one was too slow"
          : "another worker has the segment; this one was too slow",
        .of(run.segment.event, ["segment": .text(run.segment.id)]))
    // It may have ended while Redis was asked.
    default: return
    }
  }

  // MARK: the end

  func release(_ run: SegmentRun) async {
    do {
      try await lane.record.release(run.claim, hasSent: run.mayHaveSent)
    } catch {
      lane.log.debug("claim not released", ["error": .text("\(error)")])
    }
  }

  /// So that other workers need not wait for their end.
  func releaseAll(isolation: isolated any Actor = #isolation) async {
    let runs = runs.all
    guard !runs.isEmpty else { return }
    // Redis may be away: what waits for it ends with the connection.
    let deadline = lane.loop.schedule(after: Self.releaseTimeout) { [lane] in lane.redis.close() }
    var releases: [Task<Void, Never>] = []
    for run in runs {
      releases.append(
        lane.loop.task(on: isolation) { [self] in
          await release(run)
        })
    }
    for release in releases { await release.value }
    deadline.cancel()
  }
}

/// A segment that a lane asks for: the claim that it wants, and the users that it begins to read
/// meanwhile. Confined to its lane.
struct SegmentBid {
  /// The result of a claim.
  struct Answer {
    let result: ClaimResult
    /// Monotonic nanoseconds when the claim was asked for; it began no sooner.
    let asked: UInt64
  }

  let claim: Claim
  let users: SegmentUsers
  /// Ends when `users` may be read; nil when nothing of them is read ahead.
  let reading: Task<Void, Never>?
  /// Monotonic nanoseconds when reading began.
  let began: UInt64
  /// Of the script that opened the event; nil when the claim is still to be asked for.
  var answer: Answer?
}

/// How many segments may have their members read before it is known whether they are ours: a pure
/// machine. Such a read is in vain when the event is a duplicate or the segment another's, and what
/// is read so may be thousands of members. A segment that was ours makes up for one in vain, so
/// there are no more of these than of those, and a round at most for the first.
struct ReadAheadCredit: Equatable {
  private let maximum: Int
  private(set) var left: Int

  init(maximum: Int) {
    self.maximum = maximum
    left = maximum
  }

  /// Whether one more may be read ahead.
  mutating func take() -> Bool {
    guard left > 0 else { return false }
    left -= 1
    return true
  }

  /// A segment that was asked for was ours.
  mutating func earn() { left = min(left + 1, maximum) }
}
