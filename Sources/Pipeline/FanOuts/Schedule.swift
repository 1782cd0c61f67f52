import EventLoop
import Ingest
import Kafka
import Model
import Record
import Telemetry

/// Events that are to be sent later. One that is read too early is kept in Redis, and its offset
/// committed. When it is due, one of the workers writes its record to the events topic again, and
/// whoever reads that opens it. Confined to its lane.
///
/// The event's hash alone says whether it is due, by Redis' clock and in the script that opens it.
/// So a record that is written twice, by a worker that died or by two, is as one that Kafka
/// delivers twice, and one that somebody has put off meanwhile opens nothing.
final class Schedule {
  /// How exact a time is.
  static let interval: Duration = .seconds(1)
  /// Events that are taken at a time. Their documents are read and written one after the other.
  private static let window = 100
  /// A worker that dies with events in its hands keeps them from the others for so long: several
  /// times what Redis and Kafka take to answer.
  private static let lease: Duration = .seconds(30)

  /// The next step with an event that says when it is to be sent.
  enum Standing: Equatable {
    /// It is opened now, with the time that holds for it.
    case due(Event)
    case waits
    /// Another event of its id waits for its time.
    case duplicate
    case refused(IngestError)
  }

  private let lane: LaneContext
  private var isReleasing = false

  init(_ lane: LaneContext) { self.lane = lane }

  /// Keeps an event that is not due.
  func take(
    _ event: Event, _ sendAt: SendTime, from message: KafkaMessage
  ) async throws -> Standing {
    let released = ReleaseRecord.source(of: message)
    if released == nil, sendAt.due.lowerBound > lane.now, try await isFull(for: event) {
      return .refused(
        IngestError(
          .unprocessable, "too many events wait for their send_at: send it in again later"))
    }
    let result = try await lane.retry.persistent("schedule the event in Redis", for: event) {
      try await lane.record.schedule(
        event, sendAt, source: message.place, released: released,
        replayed: DeadLetter.source(of: message), now: lane.now)
    }
    switch result {
    case .due(let known):
      return .due(try known.map { try lane.ingest.event(event, at: $0) } ?? event)
    case .duplicate: return .duplicate
    case .waits(let due):
      try await keep(event, due: due)
      // Somebody has put off what was released: it was scheduled before.
      guard released == nil else { return .waits }
      lane.counters.add(.eventsScheduled)
      lane.log.info("event scheduled", .of(event, ["send_at": .text(sendAt.text)]))
      return .waits
    }
  }

  private func isFull(for event: Event) async throws -> Bool {
    try await lane.retry.persistent("count the scheduled events in Redis", for: event) {
      try await lane.record.isScheduleFull(for: event.id)
    }
  }

  /// Has workers look at the event again when it is due, by Redis' clock.
  func keep(_ event: Event, due: Int64) async throws {
    try await lane.retry.persistent("schedule the event in Redis", for: event) {
      try await lane.record.enlist(event.id, due: due)
    }
  }

  /// How many segments of a plan may be in Kafka now: all, but for waves of a local hour that are
  /// not due. A cancelled fan-out waits for none.
  func due(of plan: RemainingPlan) async throws -> Int {
    let event = plan.event
    guard event.waveCount > 1 else { return plan.total }
    return try await lane.retry.persistent("ask Redis what is due", for: event) {
      if try await lane.record.halts(of: [event.id])[event.id] == .cancelled { return plan.total }
      return plan.due(at: try await lane.record.time())
    }
  }

  // MARK: the release

  /// Writes the records of events that are due. Called every `interval` in one lane of each worker.
  func release() async {
    guard !isReleasing else { return }
    isReleasing = true
    defer { isReleasing = false }
    do {
      var due: [DueEvent]
      repeat {
        due = try await lane.record.takeDue(atMost: Self.window, lease: Self.lease)
        for taken in due { try await releaseAlone(taken) }
      } while due.count == Self.window
    } catch {
      // Another look comes in a second. That Redis is away is said by whoever needs it.
      lane.log.debug("scheduled events are not released", ["error": .text("\(error)")])
    }
  }

  /// A fault of one event must not keep the others waiting.
  private func releaseAlone(_ taken: DueEvent) async throws {
    do {
      try await release(taken)
    } catch let error as RecordError {
      if error.isTransient { throw error }
      say("a scheduled event is not sent: what Redis holds of it is not usable", taken, "\(error)")
    } catch let error as KafkaError {
      say("a scheduled event is not sent: Kafka does not take its record", taken, "\(error)")
    }
  }

  private func release(_ taken: DueEvent) async throws {
    guard let known = try await lane.record.scheduled(taken.event), known.isAwaited,
      let sendAt = known.status.sendAt
    else { return try await lane.record.giveBack(taken, due: nil) }
    let origin = EventOrigin(
      traceparent: known.status.traceparent, appendedAt: Int64(known.status.appendedAt))
    let event: Event
    do {
      guard let document = known.document else {
        throw IngestError(.tombstone, "Redis has lost the event's document")
      }
      event = try lane.ingest.event(document: document, sendAt: sendAt, origin: origin)
    } catch {
      say("a scheduled event cannot be sent: write it again", taken, "\(error)")
      return try await lane.record.giveBack(taken, due: nil)
    }
    try await lane.writer.publish(
      lane.options.ingest.eventsTopic, Array(event.streamer.utf8), event.document,
      ReleaseRecord.headers(source: known.status.source, origin: origin))
    lane.log.info("scheduled event released", .of(event))
    try await lane.record.giveBack(taken, due: nil)
  }

  private func say(_ what: String, _ taken: DueEvent, _ error: String) {
    lane.log.error(what, ["event": .text(taken.event), "error": .text(error)])
  }
}

extension ScheduledEvent {
  /// Whether anything of it is still to be sent at its time. What is written once more than needed
  /// does nothing.
  fileprivate var isAwaited: Bool {
    switch status.state {
    case .scheduled: true
    case .running, .incomplete: status.waves > 1
    case .done, .expired, .unknown: false
    }
  }
}
