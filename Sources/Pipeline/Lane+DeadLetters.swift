import Ingest
import Kafka
import Record
import Telemetry

/// Records that no try will make better.
extension Lane {
  /// A record that no try will make better goes to the dead letters, whole, with its reason. Throws
  /// the `Burial` when they do not take it.
  func bury(_ message: KafkaMessage, _ error: IngestError) async throws {
    let time = WallClock.rfc3339(options.deliver.wallClock())
    let letter = DeadLetter(message, error: error, worker: options.workerID, time: time)
    let burial = Burial(letter: letter, place: message.place, error: error)
    do {
      try await write(letter)
    } catch {
      options.log.error(
        "the dead letters take nothing; the record's partition waits",
        ["record": .text(burial.place), "error": .text("\(error)")])
      throw burial
    }
    buried(burial)
  }

  /// Tries until the dead letters take what they would not take at first, or the worker stops.
  package func bury(_ burial: Burial) async -> Receipt {
    do {
      try await patience.persist(
        "Kafka takes dead letters", isTransient: { (_: KafkaError) in true },
        call: { () async throws(KafkaError) in try await write(burial.letter) })
    } catch {
      return .notDone
    }
    buried(burial)
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

  private func buried(_ burial: Burial) {
    counters.add(.eventsMalformed)
    uncounted[burial.error.code.rawValue, default: 0] += 1
    Task { await countDeadLetters() }
    options.log.warning(
      "record sent to the dead letters",
      ["record": .text(burial.place), "error": .text("\(burial.error)")])
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
