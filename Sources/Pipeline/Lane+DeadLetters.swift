import Ingest
import Kafka
import Model
import Record
import Telemetry

/// What an event says of its records in the dead letters.
extension Lane {
  package func noteDeadLetter(_ message: KafkaMessage, _ error: IngestError) async -> Bool {
    uncounted[error.code.rawValue, default: 0] += 1
    Task { await countDeadLetters() }
    do {
      try await note(message, error)
      return true
    } catch {
      return false
    }
  }

  /// The event says what is missing of it, and comes to its end without it.
  private func note(_ message: KafkaMessage, _ error: IngestError) async throws {
    let now = options.deliver.wallClock()
    let (event, segment): (Event, Segment?)
    switch ingest.decode(message, now: now) {
    // Also one that this worker's clock alone calls early: it was opened. Of one that was not,
    // Redis notes nothing.
    case .event(let found), .early(let found, _): (event, segment) = (found, nil)
    case .segment(let found): (event, segment) = (found.event, found)
    case .malformed: return
    }
    do {
      let figures = try await persistent("Redis notes a dead letter") {
        try await record.noteDeadLetter(
          of: segment, event, code: error.code.rawValue, source: message.place, now: now)
      }
      if let figures { sayEnd(of: event, figures, isComplete: false) }
    } catch let error as RecordError {
      // The lane's Redis is closed: whoever reads the record again notes it.
      guard !isStopping else { throw RetryUntilStopped.Stopped() }
      // What makes a segment a dead letter may stand in the way of this too.
      options.log.warning(
        "the event does not say that a segment of it is a dead letter",
        ["event": .text(event.id), "error": .text("\(error)")])
    }
  }

  func sayEnd(of event: Event, _ figures: [FanOutFigure], isComplete: Bool) {
    var fields: LogFields = ["event": .text(event.id)]
    for figure in figures { fields = fields.merging([figure.name: .integer(figure.count)]) }
    guard !isComplete else { return options.log.info("fan-out done", fields) }
    options.log.warning("fan-out incomplete: the rest of it is in the dead letters", fields)
  }

  /// Adds to the statistics what they do not know yet. What a crash forgets is in the topic all the
  /// same.
  func countDeadLetters() async {
    let codes = uncounted
    uncounted = [:]
    do {
      try await record.countDeadLetters(codes, now: options.deliver.wallClock())
    } catch {
      // The next heartbeat tries again.
      uncounted.merge(codes) { $0 + $1 }
    }
  }
}
