import Ingest
import Kafka
import Model
import Telemetry
import Threads

/// Records of events whose template this worker has not loaded: workers get a new template one
/// after the other, and its events reach the others too. Such a record rests, without a slot of a
/// lane, and its partition goes on; it is done when this worker has loaded the template, or
/// another one has taken the partition over. One for all lanes, which a record reaches in turn.
final class TemplateWaits: Sendable {
  /// Events that rest at a time: beyond it they go to the dead letters. An intake that is full of
  /// them pauses its topic, and a template that nobody has would hold up all other events.
  static let maximum = Intake.maximumRetries / 2

  /// The template may be loaded meanwhile.
  private static let interval: Duration = .seconds(5)

  private let limit: Duration
  /// When each record came first, by its offset: ms since 1970.
  private let first = ThreadLock<[String: Int64]>([:])

  /// - Parameter limit: how long a record rests; zero: not at all.
  init(limit: Duration) { self.limit = limit }

  /// Its template is loaded now.
  func end(_ message: KafkaMessage) { first.withLock { $0[message.place] = nil } }

  /// Whether such a record rests.
  func rests(_ message: KafkaMessage) -> Bool { first.withLock { $0[message.place] != nil } }

  /// The receipt of such a record: it rests until its time or the event's is over, and then goes to
  /// the dead letters.
  ///
  /// - Parameter now: ms since 1970.
  func receipt(for message: KafkaMessage, of event: Event, now: Int64) -> Receipt {
    let place = message.place
    let rest = first.withLock { first -> Duration? in
      let began = first[place] ?? now
      let left = min(
        limit - Duration.milliseconds(now - began), Duration.milliseconds(event.expiresAt - now))
      if first[place] == nil, first.count >= Self.maximum {
        // Of partitions that others have now.
        first = first.filter { Duration.milliseconds(now - $0.value) < limit * 2 }
      }
      guard left > .zero, first[place] != nil || first.count < Self.maximum else {
        first[place] = nil
        return nil
      }
      first[place] = began
      return left
    }
    if let rest { return .again(after: min(rest, Self.interval)) }
    return .deadLetter(
      IngestError(.unknownTemplate, "the template \(event.template) is not loaded"))
  }
}

extension PipelineOptions {
  /// Of a record whose template is not loaded.
  func receiptWithoutTemplate(for message: KafkaMessage, of event: Event) -> Receipt {
    let isKnown = templateWaits.rests(message)
    let receipt = templateWaits.receipt(for: message, of: event, now: wallClock())
    if case .again = receipt, !isKnown {
      log.warning(
        "a record waits for a worker that has its template",
        .of(
          event,
          [
            "record": .text(message.place), "template": .text(event.template),
            "seconds": .integer(Int(templateWait / .seconds(1))),
          ]))
    }
    return receipt
  }
}
