import Deliver
import EventLoop
import Expand
import Ingest
import Kafka
import Model
import Record
import Render
import Telemetry
import Text

/// Takes segments through their lives: does what `SegmentMachine` says, and reports the result to
/// it. Confined to its lane.
final class SegmentRunner {
  /// While the last pushes in flight are answered, those among them that must wait leave.
  static let answerStep: Duration = .milliseconds(200)
  /// Pushes that would expire before they are tried again stay where they are until then.
  private static let shortestStraggle: Duration = .milliseconds(1500)
  private static let longestStay: Duration = .seconds(5)

  let runs: SegmentRuns
  let claims: SegmentClaims
  let leases: LimitLeases
  let limited = LimitedSegments()
  let stragglers: Stragglers
  private let lane: LaneContext
  private let sender: SegmentSender
  private let settler: SegmentSettler

  init(_ lane: LaneContext, clock: ClockWatch) {
    self.lane = lane
    let leases = LimitLeases(lane)
    self.leases = leases
    runs = SegmentRuns(limits: lane.options.limits, loop: lane.loop) { leases.limits(of: $0) }
    claims = SegmentClaims(lane, clock: clock, runs: runs)
    stragglers = Stragglers(lane, runs: runs)
    let news = TokenNewsWriter(lane)
    sender = SegmentSender(lane, claims: claims, runs: runs, stragglers: stragglers, news: news)
    settler = SegmentSettler(lane, stragglers: stragglers, news: news)
  }

  /// Taps have begun or ended: also segments that are under way are seen.
  func observe() {
    for run in runs.all + limited.waitingRuns {
      run.tally.observer = lane.tap.observer(of: run.segment.event)
    }
  }

  /// A segment of a large event, or stragglers.
  func take(
    _ segment: Segment, from message: KafkaMessage, _ slot: LaneSlot,
    isolation: isolated any Actor = #isolation
  ) async throws -> Receipt {
    if lane.render.template(named: segment.event.template) == nil {
      let reason = "the template \(segment.event.template) is not loaded"
      guard !segment.event.isExpired(at: lane.now) else {
        return .deadLetter(IngestError(.unknownTemplate, reason))
      }
      // The worker that opened the event has it: some are newer than others while a new version is
      // rolled out. However many segments there are, they rest in Kafka.
      lane.log.warning("a segment is deferred: \(reason)", .of(segment.event))
      return try await stragglers.deferPaused(segment, message, slot)
    }
    return try await run(claims.bid(on: segment), from: message, slot)
  }

  /// Does one segment from its followers to its counters, unless somebody has done it or does it.
  ///
  /// - Parameter slot: released when all pushes of the segment were tried, or before.
  func run(
    _ bid: SegmentBid, from message: KafkaMessage, _ slot: LaneSlot
  ) async throws -> Receipt {
    let run = runs.make(bid.claim, recordBytes: message.valueBytes, slot)
    run.tally.notes = lane.options.record.notes(of: run.segment, now: lane.options.wallClock)
    run.tally.observer = lane.tap.observer(of: run.segment.event)
    run.topic = message.topic
    run.tally.reports = lane.outcomes.reports(of: run.segment)
    defer {
      runs.end(run)
      limited.end(run)
    }
    // By the script that opened the event.
    if let answer = bid.answer { claims.noteFormer(of: run, answer.result) }
    var action = run.take(.begun(isClaimed: bid.answer != nil))
    var failure: (any Error)?
    while true {
      if case .end(let ending, let cleanup) = action {
        await clean(up: cleanup, run)
        return try await receipt(ending, run, message, failure)
      }
      do {
        action = run.take(try await perform(action, run, bid, message))
      } catch {
        failure = error
        let isStop = error is RetryUntilStopped.Stopped
        action = run.take(.failed(hasSent: !isStop && run.tally.pushes > 0))
      }
    }
  }

  private func perform(
    _ action: SegmentMachine.Action, _ run: SegmentRun, _ bid: SegmentBid, _ message: KafkaMessage
  ) async throws -> SegmentMachine.Input {
    switch action {
    case .takeTurn: return .turn(try await limited.turn(of: run, at: lane.now))
    case .bid(let again):
      var bid = bid
      if again { bid.answer = nil }
      return .bid(try await ask(bid, for: run, from: message))
    case .send:
      await leases.begin(run.tally.fanOut)
      try await sender.send(run, to: bid)
      return .sent
    case .awaitTries:
      if !runs.isLeaving { _ = await run.reached(.nothingUnsent) }
      return .tried(mayReleaseSlot: runs.mayReleaseSlot(run))
    case .awaitAnswers(let releasingSlot):
      if releasingSlot { run.slot.release() }
      // Pushes for a closed route wait elsewhere, and leave the slot to those that come back soon.
      let mayStay = releasingSlot && !lane.deliver.waitsForClosedRoute(run.tally)
      return await answers(run, within: mayStay ? lane.options.straggleAfter : Self.answerStep)
    case .deferAndAwaitAnswers:
      deferWaiting(of: run)
      return await answers(run, within: Self.answerStep)
    case .settle(.whole):
      try await settler.settle(run)
      return .settled(.whole)
    case .settle(.part):
      await settler.settlePart(run)
      return .settled(.part)
    case .end, .extendClaim, .stopSending, .nothing:
      preconditionFailure("a segment's machine was told what it had not asked for")
    }
  }

  // MARK: the claim

  private func ask(
    _ bid: SegmentBid, for run: SegmentRun, from message: KafkaMessage
  ) async throws -> SegmentMachine.Bid {
    let answer = try await claims.ask(bid, for: run, from: message)
    switch answer.result {
    case .settled:
      lane.counters.add(.segmentsAlreadySettled)
      // The worker that settled the last of its fan-out may have died before it told of that.
      try await lane.outcomes.publishEnd(of: run.segment.event)
      return .settled
    case .orphaned: return .orphaned
    case .unplanned: return .unplanned
    case .paused: return .paused
    case .claimed(let milliseconds): return .claimedElsewhere(milliseconds: milliseconds)
    case .yours(let redisTime, let isCancelled, _):
      guard !runs.isStopped else { return .wonAfterStop }
      claims.won()
      run.isLate = run.segment.event.isExpired(at: redisTime)
      let fanOut = run.tally.fanOut
      if isCancelled { fanOut.halt = .cancelled }
      // An earlier segment of it may have been under way when it was paused.
      if fanOut.halt == .paused { fanOut.halt = nil }
      run.holds(since: answer.asked, for: lane.options.claimLifetime)
      run.claimedAt = lane.now
      runs.begin(run)
      return .won
    }
  }

  // MARK: the last answers

  private func answers(_ run: SegmentRun, within limit: Duration) async -> SegmentMachine.Input {
    await run.reached(.allSettled, within: limit) ? .answered : .unanswered
  }

  /// Makes stragglers of pushes that still wait for another try.
  private func deferWaiting(of run: SegmentRun) {
    let left = lane.options.stragglerTimes.left(until: run.segment.event.expiresAt)
    guard !runs.isLeaving, left > shortestStraggle(run) else { return }
    lane.deliver.postponeWaiting(of: run.tally)
  }

  /// Near the expiry the order of the stragglers' topic would make a last try come too late: who
  /// keeps no slot stays where it is.
  private func shortestStraggle(_ run: SegmentRun) -> Duration {
    guard run.machine.hasLeftSlot, !lane.deliver.waitsForClosedRoute(run.tally) else {
      return Self.shortestStraggle
    }
    return Self.shortestStraggle + min(lane.options.straggleDelay, Self.longestStay)
  }

  // MARK: the end

  private func clean(up cleanup: SegmentMachine.Cleanup, _ run: SegmentRun) async {
    switch cleanup {
    case .nothing: return
    case .releaseClaim: await claims.release(run)
    case .abandonPushes: lane.deliver.abandon(run.tally)
    case .giveUp:
      lane.deliver.abandon(run.tally)
      // A claim that is renewed behind its release would come back.
      runs.end(run)
      await settler.drop(run)
      await claims.release(run)
    }
  }

  private func receipt(
    _ ending: SegmentMachine.Ending, _ run: SegmentRun, _ message: KafkaMessage,
    _ failure: (any Error)?
  ) async throws -> Receipt {
    switch ending {
    case .done: return .done
    case .again(let milliseconds):
      let longest = lane.options.claimLifetime / 10
      return .again(after: min(milliseconds.map { .milliseconds($0) } ?? longest, longest))
    case .deferPaused: return try await stragglers.deferPaused(run.segment, message, run.slot)
    case .deferUnplanned:
      return try await stragglers.deferUnplanned(run.segment, message, run.slot)
    case .failed: throw failure ?? RetryUntilStopped.Stopped()
    }
  }
}
