import JSON
import Kafka
import Model
import Text

/// From an event's `send_at` to when it is to be sent.
package enum SendTimeDecoder {
  /// - Parameter value: of the member `send_at`: a text of RFC 3339, or an object with the member
  ///   `local`, a date and an hour of the readers' own clocks.
  package static func decode(_ value: JSONValue) throws(IngestError) -> SendTime {
    if let text = value.string {
      guard let time = SendTime(moment: text) else {
        throw IngestError(
          .badTime,
          "send_at must be like 2026-12-01T18:00:00Z (RFC 3339), not \(Excerpt.quoted(text))")
      }
      return time
    }
    guard let object = value.object else {
      throw IngestError(
        .wrongType, "send_at is a string, or an object with local, not \(value.kindName)")
    }
    guard object.count == 1, let local = object["local"] else {
      throw IngestError(.unknownField, "send_at has local and nothing else, or is a string")
    }
    guard let text = local.string else {
      throw IngestError(.wrongType, "send_at.local is a string, not \(local.kindName)")
    }
    guard let time = SendTime(local: text) else {
      throw IngestError(
        .badTime,
        "send_at.local must be like 2026-12-01T18:00, without an offset, not "
          + Excerpt.quoted(text))
    }
    return time
  }

  /// As an event has it.
  package static func value(_ time: SendTime) -> JSONValue {
    switch time {
    case .at: .string(time.text)
    case .local: .object(JSONObject([("local", .string(time.text))]))
    }
  }
}

extension IngestStage {
  /// A scheduled event of which `document` was kept, as it is released: for the time that holds
  /// now, which may be another one than the document's.
  /// - Parameter origin: what is known of the event beside its document.
  package func event(
    document: [UInt8], sendAt: SendTime, origin: EventOrigin = EventOrigin()
  ) throws(IngestError) -> Event {
    try event(try event(document: document, origin: origin), at: sendAt)
  }

  /// The same event at the time that holds now.
  package func event(_ event: Event, at sendAt: SendTime) throws(IngestError) -> Event {
    guard event.sendAt != sendAt else { return event }
    guard
      var object = (try? JSONValue.parse(event.document, maximumDepth: Self.maximumDepth))?.object
    else { return event }
    object["send_at"] = SendTimeDecoder.value(sendAt)
    return try self.event(
      document: Array(JSONText.compact(.object(object)).utf8), origin: EventOrigin(of: event))
  }
}

/// The record that brings a scheduled event back to the events topic when it is due. It names the
/// record in which the event came first, so that it is no duplicate of that.
package enum ReleaseRecord {
  package static let header = "fanfare-due"
  private static let maximumSourceBytes = 512

  /// - Parameters:
  ///   - source: of the record in which the event came.
  ///   - origin: what that record said beside the event.
  package static func headers(
    source: String, origin: EventOrigin = EventOrigin()
  ) -> [KafkaHeader] {
    [KafkaHeader(header, source)] + origin.headers
  }

  /// The record in which a released event came first; nil for all other records.
  package static func source(of message: KafkaMessage) -> String? {
    guard let value = message.headers.first(where: { $0.name == header })?.value,
      value.count <= maximumSourceBytes
    else { return nil }
    return String(decoding: value, as: UTF8.self)
  }
}
