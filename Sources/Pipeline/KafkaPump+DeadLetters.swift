import Ingest
import Kafka
import Telemetry

/// The one way to the dead letters: the pump has them written, holds the partition of a record that
/// they do not take, and lets the lane note what its event is without.
extension KafkaPump {
  /// The record keeps its place while it is written, so that no more of them are on their way than
  /// lanes have places. Its offset waits for the letter and for the event's note of it, so that a
  /// crash in between repeats both and loses neither.
  func bury(_ identifier: Int, _ error: IngestError) {
    guard let run = running[identifier] else { return }
    Task {
      let isBuried = await isBuried(run, identifier, error)
      // Not sooner: it has no place, and each record of its partition might wait for a note so.
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
    let isWritten = await deadLetters.persist(letter)
    held -= 1
    return isWritten
  }

  private static func held(_ run: RunningRecords.Run) -> Intake.Held {
    Intake.Held(partition: run.message.source, offset: run.message.offset)
  }
}
