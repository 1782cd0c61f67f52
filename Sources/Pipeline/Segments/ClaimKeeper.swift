import EventLoop
import Ingest
import Kafka
import Model
import Record
import Redis
import Telemetry
import Text

/// The claims of the segments that a lane works on. Confined to its lane.
final class ClaimKeeper {
  /// For the last words of a stopping lane: a claim that is not released ends by itself.
  private static let releaseTimeout: Duration = .seconds(1)

  /// A claim outlives two renewals that fail.
  private static let renewalsInALifetime = 3

  private let options: PipelineOptions
  private let loop: EventLoop
  private let record: RecordStage
  private let redis: RedisClient
  private let retry: RetryUntilStopped
  private let clock: ClockWatch
  private let labels: StragglerLabels
  private let runs: SegmentRuns
  private let counters: WorkerCounters

  init(
    options: PipelineOptions, loop: EventLoop, record: RecordStage, redis: RedisClient,
    retry: RetryUntilStopped, clock: ClockWatch, labels: StragglerLabels, runs: SegmentRuns,
    counters: WorkerCounters
  ) {
    self.counters = counters
    self.options = options
    self.loop = loop
    self.record = record
    self.redis = redis
    self.retry = retry
    self.clock = clock
    self.labels = labels
    self.runs = runs
  }

  /// How often the lane calls `renew`.
  var renewalInterval: Duration { options.claimLifetime / Self.renewalsInALifetime }

  func ask(
    _ bid: SegmentBid, for run: SegmentRun, from message: KafkaMessage
  ) async throws -> SegmentBid.Answer {
    let claim = bid.claim
    var known = bid.answer
    return try await retry.persistent("claim the segment in Redis", for: claim.segment.event) {
      let asked = known?.asked ?? loop.now
      var result: ClaimResult
      if let known {
        result = known.result
      } else {
        result = try await record.claim(
          claim, lifetime: options.claimLifetime, now: options.wallClock())
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

  /// The age travels with the record, through all hands that put it off. Time in which nobody read
  /// it does not count: the worker that the parent waits for may have been away as well.
  private func isAdoptable(_ message: KafkaMessage) -> Bool {
    let now = options.wallClock()
    let label = StragglerLabel(message)
    let due = min(label.notBefore ?? now, now)
    let wait = options.straggleDelay + options.adoptAfter
    return due - labels.writtenAt(message, label) >= wait.wholeMilliseconds
  }

  private func adopt(_ claim: Claim) async throws(RecordError) -> ClaimResult {
    let result = try await record.adopt(
      claim, lifetime: options.claimLifetime, now: options.wallClock())
    if case .yours = result {
      options.log.warning(
        "nobody settled the segment that stragglers left: they are sent without it",
        ["event": .text(claim.segment.event.id), "segment": .text(claim.segment.id)])
    }
    return result
  }

  /// A claim that is not renewed ends, and nothing more is sent under it. Each event's claims by
  /// themselves: where they stand on a master that is away, no other event waits for it.
  func renew(isolation lane: isolated any Actor = #isolation) {
    let all = runs.all
    let byEvent = Dictionary(grouping: all, by: \.segment.event.id)
    // In the order of each event's first run.
    for run in all {
      guard let runs = byEvent[run.segment.event.id], runs.first === run else { continue }
      loop.task(on: lane) { [self] in await renew(runs) }
    }
  }

  private func renew(_ runs: [SegmentRun]) async {
    // A stopping lane releases its claims: none of them may come back.
    guard !retry.timers.isStopped else { return }
    // Nor that of a run which has ended since.
    let runs = runs.filter(self.runs.contains)
    guard !runs.isEmpty else { return }
    let asked = loop.now
    do {
      let renewals = try await record.renew(runs.map(\.claim), lifetime: options.claimLifetime)
      for (run, renewal) in zip(runs, renewals) { renewed(run, renewal, asked) }
    } catch {
      options.log.warning("claims not renewed", ["error": .text("\(error)")])
    }
  }

  private func renewed(_ run: SegmentRun, _ renewal: Renewal, _ asked: UInt64) {
    // It may have ended while Redis was asked.
    guard runs.contains(run), !run.isLost else { return }
    switch run.take(renewal, asked: asked, lifetime: options.claimLifetime) {
    case .goesOn: return
    case .isAnothers: say("another worker has the segment; this one was too slow", run)
    case .wasSettled: say("another worker has settled the segment; this one was too slow", run)
    }
  }

  private func say(_ line: String, _ run: SegmentRun) {
    counters.add(.claimsLost)
    options.log.warning(
      line, ["event": .text(run.segment.event.id), "segment": .text(run.segment.id)])
  }

  /// What a former owner had sent of the segment, if anything, is sent again. Counts an owner that
  /// let its claim end, not one that stopped in order, once.
  func noteFormer(of run: SegmentRun, _ result: ClaimResult) {
    guard let former = result.takenFrom, !run.tally.mayHaveBeenSent else { return }
    run.tally.mayHaveBeenSent = true
    guard !former.hasReleased else { return }
    counters.add(.claimsTakenOver)
    options.log.notice(
      "took over a segment whose owner let its claim end",
      [
        "event": .text(run.segment.event.id), "segment": .text(run.segment.id),
        "from": .text(former.name),
      ])
  }

  func release(_ run: SegmentRun) async {
    do {
      try await record.release(run.claim, hasSent: run.mayHaveSent)
    } catch {
      options.log.debug("claim not released", ["error": .text("\(error)")])
    }
  }

  /// So that other workers need not wait for their end.
  func releaseAll(isolation lane: isolated any Actor = #isolation) async {
    let runs = runs.all
    guard !runs.isEmpty else { return }
    // Redis may be away: what waits for it ends with the connection.
    let deadline = loop.schedule(after: Self.releaseTimeout) { [redis] in redis.close() }
    var releases: [Task<Void, Never>] = []
    for run in runs {
      releases.append(
        loop.task(on: lane) { [self] in
          await release(run)
        })
    }
    for release in releases { await release.value }
    deadline.cancel()
  }
}
