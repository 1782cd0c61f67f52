import Deliver
import Expand
import Ingest
import Model
import Record
import Render
import Telemetry

/// Expands and renders a segment, and hands its pushes to Deliver as there is room. Confined to its
/// lane.
final class SegmentSender {
  private let lane: LaneContext
  private let prepared: PreparedEvents
  private let claims: SegmentClaims
  private let runs: SegmentRuns
  private let stragglers: Stragglers
  private let news: TokenNewsWriter

  init(
    _ lane: LaneContext, claims: SegmentClaims, runs: SegmentRuns, stragglers: Stragglers,
    news: TokenNewsWriter
  ) {
    self.lane = lane
    prepared = PreparedEvents(lane)
    self.claims = claims
    self.runs = runs
    self.stragglers = stragglers
    self.news = news
  }

  /// Hands all pushes of the segment to Deliver, page by page.
  func send(_ run: SegmentRun, to bid: SegmentBid) async throws {
    let segment = run.segment
    let event = try prepared.prepare(segment.event)
    let reader = lane.expand.reader(
      of: await claims.users(of: bid), fields: event.fieldNames, topic: event.headers.topic,
      now: lane.options.wallClock, isOver: { self.end(of: run) != nil })
    var listed = 0
    var found: Set<[UInt8]> = []
    while let page = try await nextPage(reader, of: event.event, run) {
      try run.check()
      // The rest of a plain set would be read, and written as stragglers, for nothing.
      if runs.isLeaving, case .plain = segment.slice { throw RetryUntilStopped.Stopped() }
      if let index = run.index { listed += index.keepListed(of: page) }
      if let index = run.index, run.tally.hearsOfPushes { found.formUnion(index.names(in: page)) }
      let rendering = lane.render.batches(
        of: page, for: event, tally: run.tally, maximumPushes: lane.options.limits.batchPushes)
      if let outcome = end(of: run) {
        rendering.settleRest(as: outcome) { run.index?.history(user: $0, member: $1) }
        continue
      }
      while let batch = rendering.next() {
        run.index?.setHistories(of: batch)
        run.watch(batch)
        await lane.deliver.admit(batch)
        try await lane.outcomes.publish(run, from: OutcomeReports.publishedAt)
        try await makeRoom(run)
      }
      try await lane.retry.persistent("write verdicts on tokens to Redis", for: segment.event) {
        try await lane.record.pruneSurplus(
          segment, run.tally, owner: run.claim.owner, now: lane.now)
      }
      try await news.publish(run)
    }
    // A listed push that is no longer bound was logged out, or its owner muted, meanwhile; or it
    // could not be read in time.
    if let index = run.index, index.count > listed {
      let outcome = run.tally.known(end(of: run) ?? .cancelled)
      run.tally.pushes += index.count - listed
      run.tally.count(outcome, times: index.count - listed)
      for push in run.tally.hearsOfPushes ? index.missing(found) : [] {
        run.tally.note(
          user: push.user, member: push.member, .outcome(outcome), sends: push.history.sends)
      }
    }
  }

  /// The outcome of whatever is not sent yet; nil while it may be sent.
  private func end(of run: SegmentRun) -> Outcome? {
    if run.tally.fanOut.halt == .cancelled { return .cancelled }
    let isLate = run.isLate || run.segment.event.isExpired(at: lane.now)
    return isLate ? .expired : nil
  }

  /// Waits until one more batch may be rendered. Pushes that only wait make room by leaving.
  private func makeRoom(_ run: SegmentRun) async throws {
    // Another segment may have taken the room that there was.
    while !runs.isLeaving, !(await run.reached(.roomOrStalled)) { try run.check() }
    try run.check()
    var limit = run.roomWait(atMost: lane.options.straggleAfter)
    // A segment has so little in a shard that all of it may leave at once.
    while !runs.isLeaving, !(await run.reached(.room, within: limit)) {
      try run.check()
      limit = .zero
      lane.deliver.postponeWaiting(of: run.tally)
      _ = await run.reached(.room, within: SegmentRunner.answerStep)
      try run.check()
    }
    if run.tally.stragglers.count >= StragglerRecord.maximumPushes {
      try await stragglers.write(run)
    }
  }

  private func nextPage(
    _ reader: SegmentReader, of event: Event, _ run: SegmentRun
  ) async throws -> RecipientPage? {
    defer {
      for skipped in reader.takeSkippedUsers() {
        lane.log.warning(
          "user passed over",
          .of(
            event,
            [
              "user": .text(skipped.user),
              "reason": .text(skipped.reason),
            ]))
      }
    }
    do {
      // Followers that are read later are sent nothing.
      return try await lane.retry.persistent("read followers from Redis", for: event, grace: .zero)
      {
        try await reader.next()
      }
    } catch let error as ExpandError where error.code == .expired || error.isUncertain {
      // Too slow for too long: nobody who is left can be told in time.
      lane.log.warning(
        "event expired before all followers were read",
        .of(event, ["error": .text("\(error)")]))
      // Pushes that are on a list are counted by it.
      if run.index == nil { run.tally.isUnread = true }
      return nil
    }
  }
}

/// Fan-outs that a lane works on: a template is joined with its event once, not once a segment. An
/// event that is here keeps its template when templates change. Confined to its lane.
final class PreparedEvents {
  private let lane: LaneContext
  /// As many as can be in flight; the oldest goes.
  private let maximum: Int
  private var prepared: [PreparedEvent] = []

  init(_ lane: LaneContext) {
    self.lane = lane
    maximum = lane.options.limits.slots + LimitedSegments.maximum
  }

  func prepare(_ event: Event) throws(RenderError) -> PreparedEvent {
    if let index = prepared.lastIndex(where: { $0.event == event }) {
      return prepared[index]
    }
    let fresh = try lane.render.prepare(event)
    if prepared.count >= maximum { prepared.removeFirst() }
    prepared.append(fresh)
    return fresh
  }
}
