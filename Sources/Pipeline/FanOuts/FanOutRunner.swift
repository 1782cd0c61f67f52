import EventLoop
import Expand
import Ingest
import Kafka
import Model
import Record
import Render
import Telemetry

/// Opens fan-outs: an event's only segment runs where the event was read, those of a large event
/// go to all lanes of all workers. Confined to its lane.
final class FanOutRunner {
  /// Segments of a bulk event that are written at a time: that much of a giant stands before the
  /// next one's first segment, and that much is there for all workers to take from. The next window
  /// is written while the last segments of this one are worked on.
  private static let window = 128
  /// The statistics know a fan-out that began so long ago, so that `fanfare fanout list` shows it.
  private static let hanging: Duration = .seconds(1)

  private let lane: LaneContext
  private let segments: SegmentRunner
  private let schedule: Schedule
  /// How old events were when their fan-outs began; of those that were to be sent later, how late.
  private(set) var eventAges = Histogram.eventAges

  init(_ lane: LaneContext, _ segments: SegmentRunner, _ schedule: Schedule) {
    self.lane = lane
    self.segments = segments
    self.schedule = schedule
  }

  func run(
    _ read: Event, from message: KafkaMessage, _ slot: LaneSlot,
    isolation: isolated any Actor = #isolation
  ) async throws -> Receipt {
    let event: Event
    switch try await postpone(read, from: message) {
    case .due(let known): event = known
    case .receipt(let receipt): return receipt
    }
    if event.isExpired(at: lane.now), try await expire(event, from: message) != .begun {
      lane.options.templateWaits.end(message)
      return .done
    }
    guard hasTemplate(for: event) else {
      return lane.options.receiptWithoutTemplate(for: message, of: event)
    }
    lane.options.templateWaits.end(message)
    return try await open(event, from: message, slot)
  }

  private func open(
    _ event: Event, from message: KafkaMessage, _ slot: LaneSlot,
    isolation: isolated any Actor = #isolation
  ) async throws -> Receipt {
    let now = lane.now
    let (found, refusal) = try await audience(of: event, from: message)
    var audience = found
    // The only segment is claimed by the script that opens the event.
    let isWhole = audience.segmentCount == 1 && event.waveCount == 1
    let only = isWhole ? audience.segments(of: event).first : nil
    var bid = only.map { segments.claims.bid(on: $0, audience: audience, isolation: isolation) }
    var asked = lane.loop.now
    let (opened, claimed) = try await lane.retry.persistent("open the fan-out in Redis", for: event)
    {
      asked = lane.loop.now
      return try await lane.record.open(
        event: event, audience: audience, source: message.place,
        replayed: DeadLetter.source(of: message), released: ReleaseRecord.source(of: message),
        refusal: refusal, claim: bid?.claim, lifetime: lane.options.claimLifetime, now: now)
    }
    bid?.answer = claimed.map { SegmentBid.Answer(result: $0, asked: asked) }
    var published = 0
    switch opened {
    case .duplicate: return dropped(event)
    case .finished: return try await ended(event, slot)
    case .waits(let due):
      // Somebody has put it off since.
      try await schedule.keep(event, due: due)
      return .done
    case .resumed(let plan, let count):
      lane.counters.add(.eventsResumed)
      audience = plan
      published = count
      lane.log.fanOut("fan-out resumed", event, audience, ["published": .integer(published)])
    case .empty(let figures):
      lane.counters.add(.eventsWithoutAudience)
      lane.log.fanOut("fan-out started", event, audience)
      lane.log.nobodyFollows(event)
      return try await ended(event, slot, with: figures)
    case .stopped(let reason, let figures):
      lane.counters.add(.eventsStopped)
      lane.log.notice("event not sent", .of(event, ["reason": .text(reason)]))
      return try await ended(event, slot, with: figures)
    case .new: began(event, audience, now)
    }
    guard audience.segmentCount > 1 || event.waveCount > 1 else {
      lane.spans.planned(event, first: 0, count: 1, to: message.topic, from: now)
      // Without an answer it was planned as another segment than we thought.
      let known = bid.flatMap { $0.answer == nil ? nil : $0 }
      return try await run(
        known ?? segments.claims.bid(on: audience.segments(of: event)[0], isolation: isolation),
        from: message, slot)
    }
    let whole = RemainingPlan(event: event, audience: audience)
    try await plan(event.waveCount > 1 ? whole.after(published) : whole, published: published)
    try await handOver(event)
    return .done
  }

  /// Tells that the event has come to its end. Others need not wait for that.
  /// - Parameter figures: nil: it had ended before, and who brought it there may have died before
  ///   it told of it.
  private func ended(
    _ event: Event, _ slot: LaneSlot, with figures: [FanOutFigure]? = nil,
    isolation: isolated any Actor = #isolation
  ) async throws -> Receipt {
    slot.release()
    if let figures {
      try await lane.ended(event, figures, rest: .nothing)
    } else {
      try await lane.outcomes.publishEnd(of: event)
    }
    return .done
  }

  private func began(_ event: Event, _ audience: Audience, _ now: Int64) {
    lane.counters.add(.eventsOK)
    let age = Duration.milliseconds(max(0, now - event.wantedAt))
    eventAges.observe(nanoseconds: age.nanoseconds)
    lane.log.fanOut("fan-out started", event, audience)
    sayWrongValues(of: event)
  }

  private enum Postponement {
    /// It is opened now, with the time that holds for it.
    case due(Event)
    case receipt(Receipt)
  }

  private func postpone(_ event: Event, from message: KafkaMessage) async throws -> Postponement {
    guard let sendAt = event.sendAt else { return .due(event) }
    // The writer of the event is told at once.
    guard event.isExpired(at: lane.now) || hasTemplate(for: event) else {
      return .receipt(lane.options.receiptWithoutTemplate(for: message, of: event))
    }
    let receipt: Receipt
    switch try await schedule.take(event, sendAt, from: message) {
    case .due(let known): return .due(known)
    case .waits: receipt = .done
    case .duplicate: receipt = dropped(event)
    case .refused(let error): receipt = .deadLetter(error)
    }
    lane.options.templateWaits.end(message)
    return .receipt(receipt)
  }

  private func hasTemplate(for event: Event) -> Bool {
    lane.render.template(named: event.template) != nil
  }

  /// Another record brought the same id before.
  private func dropped(_ event: Event) -> Receipt {
    lane.counters.add(.eventsDuplicate)
    lane.log.notice("duplicate event dropped", .of(event))
    return .done
  }

  private func sayWrongValues(of event: Event) {
    guard let template = lane.render.template(named: event.template) else { return }
    lane.log.keysAreLeftOut(event, template.absentValues(of: event))
    for words in template.mistypedValues(of: event) {
      lane.log.warning(
        "a value of the event has another type than its template wants",
        .of(event, ["reason": .text(words)]))
    }
  }

  /// The recipients, or why there are none; both are asked in one go.
  private func audience(
    of event: Event, from message: KafkaMessage, isolation: isolated any Actor = #isolation
  ) async throws -> (audience: Audience, refusal: String?) {
    let isRelease = ReleaseRecord.source(of: message) != nil
    let registration = beginToRegister(event, isRelease: isRelease, isolation)
    do {
      let audience = try await lane.retry.persistent(
        "read from Redis who is to be told", for: event
      ) {
        try await lane.expand.audience(of: event)
      }
      return (audience, try await registration.value)
    } catch let error as ExpandError {
      // It goes to the dead letters.
      _ = await registration.result
      try? await lane.record.takeBack(event, isOver: false, isRelease: isRelease)
      throw error
    }
  }

  private func beginToRegister(
    _ event: Event, isRelease: Bool, _ isolation: isolated any Actor
  ) -> Task<String?, any Error> {
    lane.loop.task(on: isolation) { [self] in
      try await lane.retry.persistent("note the event under its streamer in Redis", for: event) {
        try await lane.record.register(event, isRelease: isRelease)
      }
    }
  }

  /// Runs the only segment of an event, of which the statistics are told when it settles. Should it
  /// not settle soon, they are told that the event has begun.
  private func run(
    _ bid: SegmentBid, from message: KafkaMessage, _ slot: LaneSlot,
    isolation: isolated any Actor = #isolation
  ) async throws -> Receipt {
    let later = beginHandOver(bid.claim.segment.event, isolation)
    let receipt = try await segments.run(bid, from: message, slot)
    if case .done = receipt { later.cancel() }
    return receipt
  }

  private func beginHandOver(_ event: Event, _ isolation: isolated any Actor) -> Task<Void, Never> {
    lane.loop.task(on: isolation) { [self] in
      await lane.retry.timers.wait(Self.hanging)
      if !Task.isCancelled { try? await handOver(event) }
    }
  }

  /// That the statistics do not take it costs no segment: each hands over what is left.
  private func handOver(_ event: Event) async throws {
    do {
      try await lane.retry.persistent("add to the statistics in Redis", for: event) {
        try await lane.record.handOver(event.id, now: lane.now)
      }
    } catch let error as RecordError {
      // The lane's Redis is closed.
      if lane.timers.isStopped { throw RetryUntilStopped.Stopped() }
      lane.log.warning(
        "the statistics do not know of a fan-out",
        .of(event, ["error": .text("\(error)")]))
    }
  }

  /// The record behind a window of segments has been read: the next window follows.
  func goOn(
    _ plan: RemainingPlan, isolation: isolated any Actor = #isolation
  ) async throws -> Receipt {
    if lane.options.rates.bounds(plan.event), segments.limited.holdsUp(plan.event) {
      return .again(after: lane.options.straggleDelay / 5)
    }
    let published = try await lane.retry.persistent(
      "read from Redis what is planned", for: plan.event
    ) {
      try await lane.record.published(of: plan.event)
    }
    try await self.plan(plan, published: published)
    return .done
  }

  /// The segments of a large event go to all lanes of all workers through Kafka. A window of them
  /// first, then Redis' note of it, and then the record that brings the next window: whatever a
  /// crash leaves undone of that is done by who reads the record again, and what was written twice
  /// is claimed once. A wave of a local hour that is not due waits, and all behind it.
  ///
  /// - Parameter published: segments that are noted to be in Kafka; nil when Redis does not know
  ///   the event.
  private func plan(
    _ plan: RemainingPlan, published: Int?, isolation: isolated any Actor = #isolation
  ) async throws {
    let isBulk = plan.count > Segment.maximumOfUsual
    let topic = isBulk ? lane.options.ingest.bulkTopic : lane.options.ingest.segmentsTopic
    let due = try await schedule.due(of: plan)
    let end = max(plan.first, min(isBulk ? plan.first + Self.window : due, due))
    // The next window is noted, and so its record was read.
    if let published, published > end { return }
    let startedAt = lane.now
    if published != end {
      let window = plan.segments(plan.first..<end).map { SegmentRecord.encode($0) }
      try await lane.writer.publish(topic, window, of: plan.event)
      if published != nil { try await note(end, of: plan.event) }
    }
    if end < plan.total {
      if end < due {
        try await lane.writer.publish(
          topic, [SegmentRecord.encode(plan.after(end))], of: plan.event)
      } else if let next = plan.due(of: end) {
        try await schedule.keep(plan.event, due: next)
      }
    }
    lane.spans.planned(
      plan.event, first: plan.first, count: end - plan.first, to: topic, from: startedAt)
  }

  /// That Redis does not take the note costs no segment: who reads the record again writes the
  /// window again, and a segment that was written twice is claimed once.
  private func note(
    _ end: Int, of event: Event, isolation: isolated any Actor = #isolation
  ) async throws {
    do {
      try await lane.retry.persistent("note in Redis what is planned", for: event) {
        try await lane.record.published(end, of: event, now: lane.now)
      }
    } catch let error as RecordError {
      // The lane's Redis is closed.
      guard !lane.timers.isStopped else { throw RetryUntilStopped.Stopped() }
      lane.log.warning(
        "Redis does not note what is planned",
        .of(event, ["published": .integer(end), "error": .text("\(error)")]))
    }
  }

  /// Its stream is over: nobody is told of it any more.
  func end(_ end: StreamEnd, isolation: isolated any Actor = #isolation) async throws -> Receipt {
    // As long as an event that says nothing else.
    let over =
      min(end.occurredAt, lane.now)
      + lane.options.ingest.defaultExpirySeconds * 1000
    let cancelled = try await lane.retry.persistent(
      "note the end of a stream in Redis", isOver: { lane.now >= over }
    ) {
      try await lane.record.endStream(end, now: lane.now)
    }
    lane.counters.add(.streamsEnded)
    lane.log.info(
      "stream ended",
      [
        "streamer": .text(end.streamer), "stream": .text(end.stream),
        "cancelled": .text(cancelled.joined(separator: " ")),
      ])
    return .done
  }

  private func expire(_ event: Event, from message: KafkaMessage) async throws -> Expiry {
    let expiry = try await lane.retry.persistent("record the expired event in Redis", for: event) {
      try await lane.record.expire(
        event: event, source: message.place, replayed: DeadLetter.source(of: message),
        released: ReleaseRecord.source(of: message), now: lane.now)
    }
    guard expiry != .begun else { return expiry }
    if case .waits(let due) = expiry {
      try await schedule.keep(event, due: due)
      return expiry
    }
    lane.counters.add(expiry == .duplicate ? .eventsDuplicate : .eventsExpired)
    lane.log.notice("event expired before it was read", .of(event))
    if expiry != .duplicate {
      lane.spans.expired(event)
      try await lane.outcomes.publishEnd(of: event)
    }
    return expiry
  }
}

extension Event {
  /// When somebody wanted it to be sent, in ms since 1970. A `send_at` that was past means at once.
  fileprivate var wantedAt: Int64 { max(due(ofWave: 0) ?? occurredAt, occurredAt) }
}
