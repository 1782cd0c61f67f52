import JSON
import Kafka
import Text

/// CloudEvents 1.0 around an event of ours, in both modes of its Kafka and HTTP bindings: as an
/// envelope of JSON ("structured"), or with attributes in headers `ce_…` ("binary"). What is inside
/// goes on without it, so that segments and dead letters hold plain events.
///
/// Attributes stand in for members that the event does not have itself: `id`, `time` for
/// `occurred_at`, and the end of `type` (`com.example.stream.ended`) for `type`. Others, extensions
/// among them, mean nothing here.
struct CloudEvent {
  private let attributes: [String: JSONValue]

  /// Returns the event, and its document.
  static func unwrap(
    _ value: JSONValue, document: [UInt8], headers: [KafkaHeader]
  ) throws(IngestError) -> (document: [UInt8], value: JSONValue) {
    if let envelope = value.object, envelope["specversion"] != nil {
      var attributes: [String: JSONValue] = [:]
      for member in envelope.members { attributes[member.name] = member.value }
      let event = CloudEvent(attributes: attributes)
      try event.check()
      guard let data = envelope["data"] else {
        throw IngestError(
          .missingField, "data is missing: the envelope is of CloudEvents, and the event goes there"
        )
      }
      guard let object = data.object else {
        throw IngestError(.wrongType, "data is an object, not \(data.kindName)")
      }
      return try event.completed(object)
    }
    guard headers.contains(where: { $0.name == "ce_specversion" }), let object = value.object else {
      return (document, value)
    }
    var attributes: [String: JSONValue] = [:]
    for header in headers where header.name.hasPrefix("ce_") {
      guard let bytes = header.value, let text = String(validating: bytes, as: UTF8.self) else {
        throw IngestError(.badText, "the header \(Excerpt.quoted(header.name)) is no UTF-8")
      }
      attributes[String(header.name.dropFirst("ce_".count))] = .string(text)
    }
    let event = CloudEvent(attributes: attributes)
    try event.check()
    return try event.completed(object)
  }

  private func check() throws(IngestError) {
    guard try text("specversion") == "1.0" else {
      throw IngestError(.badType, "specversion must be 1.0, the version of CloudEvents")
    }
    for name in ["id", "source", "type"] {
      guard let value = try text(name), !value.isEmpty else {
        throw IngestError(.missingField, "\(name) is missing, which CloudEvents requires")
      }
    }
    // Also where data says itself when it happened.
    if let time = try text("time"), Timestamp.milliseconds(time) == nil {
      throw IngestError(
        .badTime,
        "time must be like 2026-11-21T08:00:00Z (RFC 3339), not \(Excerpt.quoted(time))")
    }
    if let type = try text("datacontenttype"), !type.lowercased().hasPrefix("application/json") {
      throw IngestError(.badType, "datacontenttype must be application/json")
    }
  }

  private func completed(
    _ data: JSONObject
  ) throws(IngestError) -> (document: [UInt8], value: JSONValue) {
    var event = data
    if event["type"] == nil { event["type"] = .string(try ownType()) }
    if event["id"] == nil { event["id"] = attributes["id"] }
    if event["occurred_at"] == nil { event["occurred_at"] = attributes["time"] }
    let value = JSONValue.object(event)
    return (Array(JSONText.compact(value).utf8), value)
  }

  /// `stream.ended` of `com.example.stream.ended`.
  private func ownType() throws(IngestError) -> String {
    let type = try text("type") ?? ""
    let known = [EventDecoder.usualType, EventDecoder.endType].first {
      type == $0 || type.hasSuffix(".\($0)")
    }
    guard let known else {
      throw IngestError(
        .badType,
        "type must end in \(EventDecoder.usualType) or \(EventDecoder.endType), unless data has one"
      )
    }
    return known
  }

  private func text(_ name: String) throws(IngestError) -> String? {
    guard let value = attributes[name] else { return nil }
    guard let text = value.string else {
      throw IngestError(.wrongType, "\(name) is a string, not \(value.kindName)")
    }
    return text
  }
}
