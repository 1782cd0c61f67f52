import Ingest
import Kafka
import Telemetry

/// The one way to the dead letters: the pump has them written, holds the partition of a record that
/// they do not take, and lets the lane note what its event is without.
extension KafkaPump {
  /// The record keeps its place while it is written, so that no more of them are on their way than
  /// lanes have places.
  func bury(_ identifier: Int, _ error: IngestError) {
    guard let run = running[identifier] else { return }
    Task {
      let letter = deadLetters.letter(of: run.message, error)
      guard await isWritten(letter, of: run, identifier) else {
        return finished(identifier, .notDone)
      }
      counters.add(.eventsMalformed)
      options.log.warning(
        "record sent to the dead letters",
        ["record": .text(run.message.place), "error": .text("\(error)")])
      let isNoted = await lanes[run.lane].noteDeadLetter(run.message, error)
      finished(identifier, isNoted ? .done : .notDone)
    }
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
    let record = Intake.Held(partition: run.message.source, offset: run.message.offset)
    consumer.pause(intakes[run.kind.rawValue].block(record))
    goOn()
    let isWritten = await deadLetters.persist(letter)
    held -= 1
    if isWritten { consumer.resume(intakes[run.kind.rawValue].unblock(record)) }
    return isWritten
  }
}
