import Ingest
import Kafka
import Model
import Record
import Telemetry

/// Records that no try will make better.
extension Lane {
  /// A record that no try will make better goes to the dead letters, whole, with its reason. Throws
  /// the `Burial` when they do not take it.
  func bury(_ message: KafkaMessage, _ error: IngestError) async throws {
    let time = WallClock.rfc3339(options.deliver.wallClock())
    let letter = DeadLetter(message, error: error, worker: options.workerID, time: time)
    let burial = Burial(letter: letter, message: message, error: error)
    do {
      try await write(letter)
    } catch {
      options.log.error(
        "the dead letters take nothing; the record's partition waits",
        ["record": .text(burial.place), "error": .text("\(error)")])
      throw burial
    }
    try await buried(burial)
  }

  /// Tries until the dead letters take what they would not take at first, or the worker stops.
  package func bury(_ burial: Burial) async -> Receipt {
    do {
      try await retry.run(
        "Kafka takes dead letters", isTransient: { (_: KafkaError) in true },
        call: { () async throws(KafkaError) in try await write(burial.letter) })
      try await buried(burial)
    } catch {
      return .notDone
    }
    return .done
  }

  private func write(_ letter: DeadLetter) async throws(KafkaError) {
    do {
      try await send(letter)
    } catch {
      guard error.code == .tooLarge else { throw error }
      // A record just under the topic's limit is over it with our headers.
      try await send(letter.abridged())
    }
  }

  private func send(_ letter: DeadLetter) async throws(KafkaError) {
    _ = try await producer.send(
      topic: options.ingest.deadLettersTopic, key: letter.key, value: letter.value,
      headers: letter.headers)
  }

  private func buried(_ burial: Burial) async throws {
    counters.add(.eventsMalformed)
    uncounted[burial.error.code.rawValue, default: 0] += 1
    Task { await countDeadLetters() }
    options.log.warning(
      "record sent to the dead letters",
      ["record": .text(burial.place), "error": .text("\(burial.error)")])
    try await note(burial)
  }

  /// The event says what is missing of it, and comes to its end without it.
  private func note(_ burial: Burial) async throws {
    let now = options.deliver.wallClock()
    let (event, segment): (Event, Segment?)
    switch ingest.decode(burial.message, now: now) {
    case .event(let found): (event, segment) = (found, nil)
    case .segment(let found): (event, segment) = (found.event, found)
    case .early, .malformed: return
    }
    do {
      let figures = try await persistent("Redis notes a dead letter") {
        try await record.noteDeadLetter(
          of: segment, event, code: burial.error.code.rawValue, source: burial.place, now: now)
      }
      if let figures { sayEnd(of: event, figures, isComplete: false) }
    } catch let error as RecordError {
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
