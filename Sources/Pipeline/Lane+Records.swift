import Expand
import Ingest
import Kafka
import Model
import Record
import Redis
import Telemetry

/// From a Kafka record to settled segments.
extension Lane {
  /// Segments of a large event that are on their way to Kafka together.
  private static let publishWindow = 256

  /// Does all that a record asks for. Never throws: what cannot be done comes back as `.hopeless`,
  /// what could not be done yet as `.notDone` or `.again`.
  ///
  /// - Parameter vacate: called when the record needs its place no longer; perhaps not before the
  ///   end.
  package func run(
    _ message: KafkaMessage, _ kind: WorkKind, vacate: @escaping @Sendable () -> Void
  ) async -> Receipt {
    do {
      guard kind == .straggler else { return try await work(message, vacate) }
      return try await gate.pass(message, vacate) { try await work($0, $1) }
    } catch is RetryUntilStopped.Stopped {
      return .notDone
    } catch {
      // By `stop`, which closes the clients of the stages.
      guard !isStopping else { return .notDone }
      // Redis holds what the contract rules out, or answers what we do not know. Waiting mends
      // neither, and a record that is never done would hold up its partition's offset for good.
      return .hopeless(IngestError(.unprocessable, "\(error)"))
    }
  }

  func work(_ message: KafkaMessage, _ vacate: @escaping () -> Void) async throws -> Receipt {
    switch ingest.decode(message, now: options.deliver.wallClock()) {
    case .event(let event): return try await fanOut(event, from: message, vacate)
    case .early(let event, let error):
      guard try await clock.isEarlyForRedis(event) else {
        return try await fanOut(event, from: message, vacate)
      }
      return .hopeless(error)
    case .segment(let segment): return try await take(segment, from: message, vacate)
    case .malformed(let error): return .hopeless(error)
    }
  }

  private func fanOut(
    _ event: Event, from message: KafkaMessage, _ vacate: @escaping () -> Void
  ) async throws -> Receipt {
    guard render.template(named: event.template) != nil else {
      let reason = "the template \(event.template) is not loaded"
      return .hopeless(IngestError(.unknownTemplate, reason))
    }
    let now = options.deliver.wallClock()
    if event.isExpired(at: now), try await expire(event, from: message) != .begun { return .done }
    var audience = try await retry.persistent("Redis has the audience") {
      try await expand.audience(of: event.streamer)
    }
    // The only segment is claimed by the script that opens the event.
    let only = audience.segmentCount == 1 ? audience.segments(of: event).first : nil
    var bid = only.map { bidder.bid(on: $0, audience: audience) }
    var asked = loop.now
    let (opening, claimed) = try await retry.persistent("Redis opens the fan-out") {
      asked = loop.now
      return try await record.open(
        event: event, audience: audience, source: message.place,
        replayed: DeadLetter.source(of: message), claim: bid?.claim,
        lifetime: options.claimLifetime, now: now)
    }
    bid?.answer = claimed.map { SegmentBid.Answer(result: $0, asked: asked) }
    var published = 0
    switch opening {
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
      counters.add(.eventsOK)
      options.log.fanOut("fan-out started", event, audience)
      options.log.fanOutEnded(event, figures, isComplete: true)
      return .done
    case .new:
      counters.add(.eventsOK)
      options.log.fanOut("fan-out started", event, audience)
    }
    let segments = audience.segments(of: event)
    if segments.count == 1 {
      // Without an answer it was planned as another segment than we thought.
      let known = bid.flatMap { $0.answer == nil ? nil : $0 }
      return try await process(
        known ?? bidder.bid(on: segments[0]), from: message, vacate: vacate)
    }
    try await plan(segments, of: event, published: published)
    return .done
  }

  /// The segments of a large event go to all lanes of all workers through Kafka. What is there
  /// already is not written again.
  private func plan(_ segments: [Segment], of event: Event, published: Int) async throws {
    var rest = segments.dropFirst(published)
    while !rest.isEmpty {
      let window = rest.prefix(Self.publishWindow).map { SegmentRecord.encode($0) }
      try await writer.publish(options.ingest.segmentsTopic, window)
      rest = rest.dropFirst(window.count)
      try await retry.persistent("Redis notes what is planned") {
        try await record.published(segments.count - rest.count, of: event)
      }
    }
  }

  /// A segment of a large event, or stragglers.
  private func take(
    _ segment: Segment, from message: KafkaMessage, _ vacate: @escaping () -> Void
  ) async throws -> Receipt {
    if render.template(named: segment.event.template) == nil {
      let reason = "the template \(segment.event.template) is not loaded"
      if segment.stragglers != nil, !segment.event.isExpired(at: options.deliver.wallClock()) {
        // Another worker has it: some are newer than others while a new version is rolled out.
        options.log.warning(
          "stragglers put off: \(reason)", ["event": .text(segment.event.id)])
        return try await delays.putOff(message, labels.complete(of: message), vacate)
      }
      return .hopeless(IngestError(.unknownTemplate, reason))
    }
    return try await process(bidder.bid(on: segment), from: message, vacate: vacate)
  }

  private func expire(_ event: Event, from message: KafkaMessage) async throws -> Expiry {
    let expiry = try await retry.persistent("Redis takes the expired event") {
      try await record.expire(
        event: event, source: message.place, now: options.deliver.wallClock())
    }
    guard expiry != .begun else { return expiry }
    counters.add(expiry == .duplicate ? .eventsDuplicate : .eventsExpired)
    options.log.notice("event expired before it was read", ["event": .text(event.id)])
    return expiry
  }
}
