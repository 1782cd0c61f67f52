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
  /// What has begun so long ago is known to the statistics, so that `fanfare fanout list` shows it.
  private static let hanging: Duration = .seconds(1)

  private let options: PipelineOptions
  private let loop: EventLoop
  private let expand: ExpandStage
  private let render: RenderStage
  private let record: RecordStage
  private let retry: RetryUntilStopped
  private let writer: RecordWriter
  private let bidder: SegmentBidder
  private let segments: SegmentRunner
  private let limited: LimitedSegments
  private let endings: FanOutEndings
  private let counters: WorkerCounters
  /// How old events were when their fan-outs began.
  private(set) var eventAges = Histogram.eventAges

  init(
    options: PipelineOptions, loop: EventLoop, stages: LaneStages, retry: RetryUntilStopped,
    writer: RecordWriter, bidder: SegmentBidder, segments: SegmentRunner,
    limited: LimitedSegments, endings: FanOutEndings, counters: WorkerCounters
  ) {
    self.options = options
    self.loop = loop
    expand = stages.expand
    render = stages.render
    record = stages.record
    self.retry = retry
    self.writer = writer
    self.bidder = bidder
    self.segments = segments
    self.limited = limited
    self.endings = endings
    self.counters = counters
  }

  func run(
    _ event: Event, from message: KafkaMessage, _ vacate: @escaping () -> Void,
    isolation: isolated any Actor = #isolation
  ) async throws -> Receipt {
    let now = options.wallClock()
    if event.isExpired(at: now), try await expire(event, from: message) != .begun { return .done }
    guard render.template(named: event.template) != nil else {
      return options.receiptWithoutTemplate(for: message, of: event)
    }
    let (found, refusal) = try await audience(of: event)
    var audience = found
    // The only segment is claimed by the script that opens the event.
    let only = audience.segmentCount == 1 ? audience.segments(of: event).first : nil
    var bid = only.map { bidder.bid(on: $0, audience: audience, isolation: isolation) }
    var asked = loop.now
    let (opened, claimed) = try await retry.persistent("open the fan-out in Redis", for: event) {
      asked = loop.now
      return try await record.open(
        event: event, audience: audience, source: message.place,
        replayed: DeadLetter.source(of: message), refusal: refusal, claim: bid?.claim,
        lifetime: options.claimLifetime, now: now)
    }
    bid?.answer = claimed.map { SegmentBid.Answer(result: $0, asked: asked) }
    var published = 0
    switch opened {
    case .duplicate:
      counters.add(.eventsDuplicate)
      options.log.notice("duplicate event dropped", ["event": .text(event.id)])
      return .done
    case .finished: return .done
    case .resumed(let plan, let count):
      counters.add(.eventsResumed)
      audience = plan
      published = count
      options.log.fanOut("fan-out resumed", event, audience, ["published": .integer(published)])
    case .empty(let figures):
      counters.add(.eventsWithoutAudience)
      options.log.fanOut("fan-out started", event, audience)
      options.log.nobodyFollows(event)
      endings.note(event.id, figures, rest: .nothing)
      return .done
    case .stopped(let reason, let figures):
      counters.add(.eventsStopped)
      options.log.notice(
        "event not sent", ["event": .text(event.id), "reason": .text(reason)])
      endings.note(event.id, figures, rest: .nothing)
      return .done
    case .new:
      counters.add(.eventsOK)
      let age = Duration.milliseconds(max(0, now - event.occurredAt))
      eventAges.observe(nanoseconds: age.nanoseconds)
      options.log.fanOut("fan-out started", event, audience)
      sayWrongValues(of: event)
    }
    guard audience.segmentCount > 1 else {
      // Without an answer it was planned as another segment than we thought.
      let known = bid.flatMap { $0.answer == nil ? nil : $0 }
      return try await run(
        known ?? bidder.bid(on: audience.segments(of: event)[0], isolation: isolation),
        from: message, vacate)
    }
    try await plan(RemainingPlan(event: event, audience: audience), published: published)
    try await handOver(event)
    return .done
  }

  private func sayWrongValues(of event: Event) {
    guard let template = render.template(named: event.template) else { return }
    options.log.keysAreLeftOut(event, template.absentValues(of: event))
    for words in template.mistypedValues(of: event) {
      options.log.warning(
        "a value of the event has another type than its template wants",
        ["event": .text(event.id), "reason": .text(words)])
    }
  }

  /// Who is to be told, and why nobody is; both are asked in one go.
  private func audience(
    of event: Event, isolation: isolated any Actor = #isolation
  ) async throws -> (audience: Audience, refusal: String?) {
    let registration = beginToRegister(event, isolation)
    do {
      let audience = try await retry.persistent("read from Redis who is to be told", for: event) {
        try await expand.audience(of: event)
      }
      return (audience, try await registration.value)
    } catch let error as ExpandError {
      // It goes to the dead letters.
      _ = await registration.result
      try? await record.takeBack(event, isOver: false)
      throw error
    }
  }

  private func beginToRegister(
    _ event: Event, _ lane: isolated any Actor
  ) -> Task<String?, any Error> {
    loop.task(on: lane) { [self] in
      try await retry.persistent("note the event under its streamer in Redis", for: event) {
        try await record.register(event)
      }
    }
  }

  /// Runs the only segment of an event, of which the statistics are told when it settles. Should it
  /// not settle soon, they are told that the event has begun.
  private func run(
    _ bid: SegmentBid, from message: KafkaMessage, _ vacate: @escaping () -> Void,
    isolation: isolated any Actor = #isolation
  ) async throws -> Receipt {
    let later = beginHandOver(bid.claim.segment.event, isolation)
    let receipt = try await segments.run(bid, from: message, vacate)
    if case .done = receipt { later.cancel() }
    return receipt
  }

  private func beginHandOver(_ event: Event, _ lane: isolated any Actor) -> Task<Void, Never> {
    loop.task(on: lane) { [self] in
      await retry.timers.wait(Self.hanging)
      if !Task.isCancelled { try? await handOver(event) }
    }
  }

  /// That the statistics do not take it costs no segment: each hands over what is left.
  private func handOver(_ event: Event) async throws {
    do {
      try await retry.persistent("add to the statistics in Redis", for: event) {
        try await record.handOver(event.id, now: options.wallClock())
      }
    } catch let error as RecordError {
      // The lane's Redis is closed.
      if retry.timers.isStopped { throw RetryUntilStopped.Stopped() }
      options.log.warning(
        "the statistics do not know of a fan-out",
        ["event": .text(event.id), "error": .text("\(error)")])
    }
  }

  /// The record behind a window of segments has been read: the next window follows.
  func goOn(
    _ plan: RemainingPlan, isolation: isolated any Actor = #isolation
  ) async throws -> Receipt {
    if options.rates.bounds(plan.event), limited.holdsUp(plan.event) {
      return .again(after: options.straggleDelay / 5)
    }
    let published = try await retry.persistent("read from Redis what is planned", for: plan.event) {
      try await record.published(of: plan.event)
    }
    try await self.plan(plan, published: published)
    return .done
  }

  /// The segments of a large event go to all lanes of all workers through Kafka. A window of them
  /// first, then Redis' note of it, and then the record that brings the next window: whatever a
  /// crash leaves undone of that is done by who reads the record again, and what was written twice
  /// is claimed once.
  ///
  /// - Parameter published: segments that are noted to be in Kafka; nil when Redis does not know
  ///   the event.
  private func plan(
    _ plan: RemainingPlan, published: Int?, isolation: isolated any Actor = #isolation
  ) async throws {
    let isBulk = plan.count > Segment.maximumOfUsual
    let topic = isBulk ? options.ingest.bulkTopic : options.ingest.segmentsTopic
    let end = isBulk ? min(plan.first + Self.window, plan.count) : plan.count
    // The next window is noted, and so its record was read.
    if let published, published > end { return }
    if published != end {
      let window = plan.segments(plan.first..<end).map { SegmentRecord.encode($0) }
      try await writer.publish(topic, window)
      if published != nil { try await note(end, of: plan.event) }
    }
    if end < plan.count {
      try await writer.publish(topic, [SegmentRecord.encode(plan.after(end))])
    }
  }

  /// That Redis does not take the note costs no segment: who reads the record again writes the
  /// window again, and a segment that was written twice is claimed once.
  private func note(
    _ end: Int, of event: Event, isolation: isolated any Actor = #isolation
  ) async throws {
    do {
      try await retry.persistent("note in Redis what is planned", for: event) {
        try await record.published(end, of: event, now: options.wallClock())
      }
    } catch let error as RecordError {
      // The lane's Redis is closed.
      guard !retry.timers.isStopped else { throw RetryUntilStopped.Stopped() }
      options.log.warning(
        "Redis does not note what is planned",
        ["event": .text(event.id), "published": .integer(end), "error": .text("\(error)")])
    }
  }

  /// Its stream is over: nobody is told of it any more.
  func end(_ end: StreamEnd, isolation: isolated any Actor = #isolation) async throws -> Receipt {
    // As long as an event that says nothing else.
    let over =
      min(end.occurredAt, options.wallClock())
      + options.ingest.defaultExpirySeconds * 1000
    let cancelled = try await retry.persistent(
      "note the end of a stream in Redis", isOver: { options.wallClock() >= over }
    ) {
      try await record.endStream(end, now: options.wallClock())
    }
    counters.add(.streamsEnded)
    options.log.info(
      "stream ended",
      [
        "streamer": .text(end.streamer), "stream": .text(end.stream),
        "cancelled": .text(cancelled.joined(separator: " ")),
      ])
    return .done
  }

  private func expire(_ event: Event, from message: KafkaMessage) async throws -> Expiry {
    let expiry = try await retry.persistent("record the expired event in Redis", for: event) {
      try await record.expire(
        event: event, source: message.place, now: options.wallClock())
    }
    guard expiry != .begun else { return expiry }
    counters.add(expiry == .duplicate ? .eventsDuplicate : .eventsExpired)
    options.log.notice("event expired before it was read", ["event": .text(event.id)])
    return expiry
  }
}

extension Log {
  /// How a fan-out begins, or goes on.
  func fanOut(_ what: String, _ event: Event, _ audience: Audience, _ more: LogFields = [:]) {
    let fields: LogFields = [
      "event": .text(event.id), "segments": .integer(audience.segmentCount),
    ]
    info(what, fields.merging(more))
  }

  /// It may be so; where it is so of every streamer, workers look in the wrong place.
  func nobodyFollows(_ event: Event) {
    let what =
      event.audience == .followers
      ? "Redis knows no followers of the streamer: nobody is told"
      : "Redis knows nobody whom the event's audience names: nobody is told"
    notice(
      what,
      [
        "event": .text(event.id), "streamer": .text(event.streamer),
        "hint": "where there are some, redis.database or redis.prefix.data may lead elsewhere",
      ])
  }

  /// An event may lack them on purpose; an app that cannot do without a key shows nothing.
  ///
  /// - Parameter fields: paths of the values that the event does not have.
  func keysAreLeftOut(_ event: Event, _ fields: [String]) {
    guard !fields.isEmpty else { return }
    let named = fields.prefix(Self.maximumNamedFields)
    info(
      "the event lacks values of its template: their keys are left out of every payload",
      [
        "event": .text(event.id), "template": .text(event.template),
        "fields": .text(named.joined(separator: " ")), "count": .integer(fields.count),
      ])
  }

  /// A template may have hundreds.
  private static var maximumNamedFields: Int { 10 }
}
