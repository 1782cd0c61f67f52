import Ingest
import Kafka
import Telemetry

/// The one way to the dead letters: the pump has them written, holds the partition of a record that
/// they do not take, and lets the lane note what its event is without.
extension KafkaPump {
  /// The record keeps its place while it is written, so that no more of them are on their way than
  /// lanes have places. Its offset waits for the letter and for the event's note of it, so that
  /// none is lost. Whoever reads the record again, after a crash or because its partition changed
  /// hands before an earlier record was done, writes the letter again.
  func bury(_ identifier: Int, _ error: IngestError) {
    guard let run = running[identifier] else { return }
    Task {
      let isBuried = await isBuried(run, identifier, error)
      // A partition that was held goes on now, not before the note: without a place, each of its
      // records might come to wait for one.
      consumer.resume(intakes[run.kind.rawValue].unblock(Self.held(run)))
      finished(identifier, isBuried ? .done : .notDone)
    }
  }

  private func isBuried(
    _ run: RunningRecords.Run, _ identifier: Int, _ error: IngestError
  ) async -> Bool {
    let letter = deadLetters.letter(of: run.message, error)
    guard await isWritten(letter, of: run, identifier) else { return false }
    counters.add(.eventsMalformed)
    options.log.warning(
      "record sent to the dead letters",
      ["record": .text(run.message.place), "error": .text("\(error)")])
    return await lanes[run.lane].noteDeadLetter(run.message, error)
  }

  private func isWritten(
    _ letter: DeadLetter, of run: RunningRecords.Run, _ identifier: Int
  ) async -> Bool {
    do {
      try await deadLetters.write(letter)
      return true
    } catch {
      options.log.error(
        "the dead letters take nothing; the record's partition waits",
        ["record": .text(run.message.place), "error": .text("\(error)")])
      return await hold(identifier, run, letter)
    }
  }

  /// The record keeps its offset from being committed, but no place of a lane.
  private func hold(
    _ identifier: Int, _ run: RunningRecords.Run, _ letter: DeadLetter
  ) async -> Bool {
    vacate(identifier)
    held += 1
    consumer.pause(intakes[run.kind.rawValue].block(Self.held(run)))
    goOn()
    let isWritten = await deadLetters.persist(letter, from: run.message.source)
    held -= 1
    return isWritten
  }

  private static func held(_ run: RunningRecords.Run) -> Intake.Held {
    Intake.Held(
      partition: run.message.source, offset: run.message.offset, bytes: run.message.valueBytes)
  }
}
