import EventLoop
import Ingest
import Kafka
import Model
import Record
import Telemetry

/// What events and the statistics say of records in the dead letters. Confined to its lane.
final class DeadLetterNotes {
  private let options: PipelineOptions
  private let loop: EventLoop
  private let ingest: IngestStage
  private let record: RecordStage
  private let retry: RetryUntilStopped
  private let endings: FanOutEndings
  /// Records in the dead letters that the statistics do not know of yet, by the code of the reason.
  private var uncounted: [String: Int] = [:]
  /// Those that the statistics were told of without an answer, by the receipt of that.
  private var unanswered: [String: [String: Int]] = [:]

  init(
    options: PipelineOptions, loop: EventLoop, ingest: IngestStage, record: RecordStage,
    retry: RetryUntilStopped, endings: FanOutEndings
  ) {
    self.options = options
    self.loop = loop
    self.ingest = ingest
    self.record = record
    self.retry = retry
    self.endings = endings
  }

  /// Whether the event knows of it, or nobody needs to; false when the worker stopped before.
  func take(
    _ message: KafkaMessage, _ error: IngestError, isolation: isolated any Actor = #isolation
  ) async -> Bool {
    uncounted[error.code.rawValue, default: 0] += 1
    beginToCount(isolation)
    do {
      try await note(message, error)
      return true
    } catch {
      return false
    }
  }

  private func beginToCount(_ lane: isolated any Actor) {
    loop.task(on: lane) { await self.count() }
  }

  /// The event says what is missing of it, and comes to its end without it.
  private func note(_ message: KafkaMessage, _ error: IngestError) async throws {
    let now = options.wallClock()
    let (event, part): (Event, DeadPart)
    switch ingest.decode(message, now: now) {
    // Also one that this worker's clock alone calls early: it was opened. Of one that was not,
    // Redis notes nothing.
    case .event(let found), .early(let found, _): (event, part) = (found, .event)
    case .segment(let found): (event, part) = (found.event, .segment(found))
    case .plan(let found): (event, part) = (found.event, .plan)
    case .ended, .malformed: return
    }
    do {
      let figures = try await retry.persistent("note a dead letter in Redis", for: event) {
        try await record.noteDeadLetter(
          of: part, event, code: error.code.rawValue, source: message.place, now: now)
      }
      if let figures { endings.note(event.id, figures, rest: .isInDeadLetters) }
    } catch let error as RecordError {
      // The lane's Redis is closed: whoever reads the record again notes it.
      guard !retry.timers.isStopped else { throw RetryUntilStopped.Stopped() }
      // What makes a segment a dead letter may stand in the way of this too.
      options.log.warning(
        "the event does not say that a segment of it is a dead letter",
        ["event": .text(event.id), "error": .text("\(error)")])
    }
  }

  /// Adds to the statistics what they do not know yet. What a crash forgets is in the topic all the
  /// same.
  func count() async {
    if !uncounted.isEmpty {
      unanswered[String(options.randomNumber(), radix: 36)] = uncounted
      uncounted = [:]
    }
    for (receipt, codes) in unanswered.sorted(by: { $0.key < $1.key }) {
      do {
        try await record.countDeadLetters(
          codes, receipt: receipt, now: options.wallClock())
        unanswered[receipt] = nil
      } catch {
        // The next heartbeat tries again.
        return
      }
    }
  }
}
