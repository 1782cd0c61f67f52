import Deliver
import Ingest
import Kafka
import Model
import Record
import Render
import Telemetry

/// A segment: claim → expand → render → deliver → record. Confined to its lane.
final class SegmentRunner {
  private let options: PipelineOptions
  private let render: RenderStage
  private let deliver: DeliverStage
  private let bidder: SegmentBidder
  private let claims: ClaimKeeper
  private let runs: SegmentRuns
  private let leases: LimitLeases
  private let limited: LimitedSegments
  private let sender: SegmentSender
  private let lingering: SegmentLingering
  private let settler: SegmentSettler
  private let delays: StragglerDelays
  private let counters: WorkerCounters

  init(
    options: PipelineOptions, stages: LaneStages, bidder: SegmentBidder, claims: ClaimKeeper,
    runs: SegmentRuns, leases: LimitLeases, limited: LimitedSegments, sender: SegmentSender,
    lingering: SegmentLingering, settler: SegmentSettler, delays: StragglerDelays,
    counters: WorkerCounters
  ) {
    self.options = options
    render = stages.render
    deliver = stages.deliver
    self.bidder = bidder
    self.claims = claims
    self.runs = runs
    self.leases = leases
    self.limited = limited
    self.sender = sender
    self.lingering = lingering
    self.settler = settler
    self.delays = delays
    self.counters = counters
  }

  /// A segment of a large event, or stragglers.
  func take(
    _ segment: Segment, from message: KafkaMessage, _ vacate: @escaping () -> Void,
    isolation: isolated any Actor = #isolation
  ) async throws -> Receipt {
    if render.template(named: segment.event.template) == nil {
      let reason = "the template \(segment.event.template) is not loaded"
      guard !segment.event.isExpired(at: options.wallClock()) else {
        return .hopeless(IngestError(.unknownTemplate, reason))
      }
      // The worker that opened the event has it: some are newer than others while a new version is
      // rolled out. However many segments there are, they rest in Kafka.
      options.log.warning(
        "a segment is put off: \(reason)", ["event": .text(segment.event.id)])
      return try await delays.putOffPaused(segment, message, vacate)
    }
    return try await run(bidder.bid(on: segment), from: message, vacate)
  }

  /// Does one segment from its followers to its counters, unless somebody has done it or does it.
  ///
  /// - Parameter vacate: called when all pushes of the segment were tried, before it ends.
  func run(
    _ bid: SegmentBid, from message: KafkaMessage, _ vacate: @escaping () -> Void
  ) async throws -> Receipt {
    let claim = bid.claim
    let run = runs.make(claim, recordBytes: message.valueBytes, vacate)
    run.tally.notes = options.record.notes(of: claim.segment, now: options.wallClock)
    defer { limited.end(run) }
    var bid = bid
    // By the script that opened the event.
    if let answer = bid.answer { claims.noteFormer(of: run, answer.result) }
    let turn: LimitedSegments.Turn
    do {
      turn = try await limited.turn(of: run, at: options.wallClock())
    } catch {
      // The run has not begun: nobody else releases its claim.
      if bid.answer != nil { await claims.release(run) }
      throw error
    }
    switch turn {
    case .now: break
    case .later: bid.answer = nil
    case .putOff:
      if bid.answer != nil { await claims.release(run) }
      return try await delays.putOffPaused(claim.segment, message, vacate)
    }
    let answer = try await claims.ask(bid, for: run, from: message)
    switch answer.result {
    case .settled:
      counters.add(.segmentsAlreadySettled)
      return .done
    case .orphaned: return .done
    case .unplanned: return try await delays.putOffUnplanned(claim.segment, message, vacate)
    case .paused: return try await delays.putOffPaused(claim.segment, message, vacate)
    case .claimed(let milliseconds):
      return .again(after: min(.milliseconds(milliseconds), options.claimLifetime / 10))
    case .yours(let redisTime, let isCancelled, _):
      guard !runs.isStopped else {
        // Those that it had were released before this one was there.
        await claims.release(run)
        throw RetryUntilStopped.Stopped()
      }
      bidder.won()
      run.isLate = claim.segment.event.isExpired(at: redisTime)
      let fanOut = run.tally.fanOut
      if isCancelled { fanOut.brake = .cancelled }
      // An earlier segment of it may have been under way when it was paused.
      if fanOut.brake == .paused { fanOut.brake = nil }
    }
    run.holds(since: answer.asked, for: options.claimLifetime)
    runs.begin(run)
    await leases.begin(run.tally.fanOut)
    defer { runs.end(run) }
    do {
      try await send(run, to: bid)
      try await lingering.linger(run)
      try await settler.settle(run)
    } catch {
      deliver.abandon(run.tally)
      guard !run.isLost else { return .again(after: options.claimLifetime / 10) }
      // While the lane stops, all claims are released together.
      guard !runs.isStopped else { throw error }
      await giveUp(run)
      throw error
    }
    return .done
  }

  /// What was sent before it fails has its outcomes.
  private func send(_ run: SegmentRun, to bid: SegmentBid) async throws {
    do {
      try await sender.send(run, to: bid)
    } catch {
      await settlePart(run, after: error)
      throw error
    }
  }

  /// Others may have the segment at once.
  private func giveUp(_ run: SegmentRun) async {
    // A claim that is renewed behind its release would come back.
    runs.end(run)
    await settler.drop(run)
    await claims.release(run)
  }

  /// The segment's record goes to the dead letters. What was sent of it gets its outcomes, and they
  /// count.
  private func settlePart(_ run: SegmentRun, after error: any Error) async {
    guard !(error is RetryUntilStopped.Stopped), !run.isLost, !runs.isStopped,
      run.tally.pushes > 0
    else { return }
    do {
      try await lingering.linger(run)
    } catch {
      // The lane stops, or another worker has the segment.
      return
    }
    await settler.settlePart(run)
  }
}
