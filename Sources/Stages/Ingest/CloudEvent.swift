import JSON
import Kafka
import Text

/// CloudEvents 1.0 around an event of ours, in both modes of its Kafka and HTTP bindings: as an
/// envelope of JSON ("structured"), or with attributes in headers `ce_…` ("binary"). The event
/// inside goes on without it, so that segments and dead letters hold plain events.
///
/// Attributes stand in for members that the event does not have itself: `id`, `time` for
/// `occurred_at`, and the end of `type` (`com.example.stream.ended`) for `type`. Others, extensions
/// among them, mean nothing here and are not looked at. An attribute that is null is an absent one.
struct CloudEvent {
  private static let headerPrefix = "ce_"
  private static let attributeNames: Set<String> = [
    "specversion", "id", "source", "type", "time", "datacontenttype",
  ]

  private var attributes: [String: JSONValue] = [:]

  /// Returns the event, and its document.
  static func unwrap(
    _ value: JSONValue, document: [UInt8], headers: [KafkaHeader]
  ) throws(IngestError) -> (document: [UInt8], value: JSONValue) {
    if let envelope = value.object, envelope.given("specversion") != nil {
      let event = CloudEvent(envelope)
      try event.check()
      return try event.completed(event.data(in: envelope))
    }
    guard headers.contains(where: { attributeName(of: $0) == "specversion" && $0.value != nil }),
      let object = value.object
    else { return (document, value) }
    let event = try CloudEvent(headers)
    try event.check()
    return try event.completed(object)
  }

  /// The attribute that a header holds, in lower case as all of them are; nil for another header.
  static func attributeName(of header: KafkaHeader) -> String? {
    let name = header.name.prefix(64).lowercased()
    return name.hasPrefix(headerPrefix) ? String(name.dropFirst(headerPrefix.count)) : nil
  }

  /// The name of the header that holds an attribute, which is in lower case. Extensions may have
  /// any name, which is not shown.
  static func header(ofAttribute name: String) -> String {
    if name == "datacontenttype" { return "content-type" }
    return headerPrefix + (attributeNames.contains(name) ? name : "…")
  }

  private init(_ envelope: JSONObject) {
    for name in Self.attributeNames { attributes[name] = envelope.given(name) }
  }

  private init(_ headers: [KafkaHeader]) throws(IngestError) {
    for header in headers {
      // The parser has found out the encoding of the value.
      guard let name = Self.attributeName(of: header), let bytes = header.value,
        Self.attributeNames.contains(name), name != "datacontenttype"
      else { continue }
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw IngestError(.badText, "the header \(Excerpt.quoted(header.name)) is no UTF-8")
      }
      if let other = attributes[name], other != .string(text) {
        throw IngestError(
          .duplicateKey, "the header \(Excerpt.quoted(header.name)) is there twice, and differs")
      }
      attributes[name] = .string(text)
    }
  }

  private func check() throws(IngestError) {
    if let version = try text("specversion"), version != "1.0" {
      throw IngestError(
        .badType,
        "specversion must be 1.0, not \(Excerpt.quoted(version)): write version 1.0 of CloudEvents")
    }
    for name in ["id", "source", "type"] {
      guard let value = try text(name), !value.isEmpty else {
        throw IngestError(.missingField, "\(name) is missing, which CloudEvents requires")
      }
    }
  }

  // MARK: data

  private func data(in envelope: JSONObject) throws(IngestError) -> JSONObject {
    let type = try MediaType(text("datacontenttype") ?? "")
    guard type.isEmpty || type.isJSON else {
      throw IngestError(
        .badType,
        "datacontenttype is \(type.quoted): the event in data must be JSON (application/json)")
    }
    switch (envelope.given("data"), envelope.given("data_base64")) {
    case (nil, nil):
      throw IngestError(
        .missingField, "data is missing: the envelope is of CloudEvents, and the event goes there")
    case (.some, .some):
      throw IngestError(.wrongType, "data and data_base64 are both there: leave one of them out")
    case (.object(let object)?, nil): return object
    case (.string(let text)?, nil): return try Self.parsed(Array(text.utf8), "data")
    case (let other?, nil):
      throw IngestError(.wrongType, "data is an object, not \(other.kindName)")
    case (nil, let coded?):
      guard let text = coded.string, let bytes = Base64.decode(text.utf8) else {
        throw IngestError(.badText, "data_base64 must be a string of base64 (RFC 4648, section 4)")
      }
      return try Self.parsed(bytes, "data_base64")
    }
  }

  /// An event that stands in the envelope as a text.
  private static func parsed(_ bytes: [UInt8], _ name: String) throws(IngestError) -> JSONObject {
    let value: JSONValue
    do {
      value = try JSONValue.parse(bytes, maximumDepth: IngestStage.maximumDepth)
    } catch {
      throw IngestError(
        error.code == .duplicateKey ? .duplicateKey : .notJSON,
        "\(name) holds a text that is not JSON: \(error)")
    }
    guard let object = value.object else {
      throw IngestError(.wrongType, "\(name) holds an object, not \(value.kindName)")
    }
    return object
  }

  // MARK: the event

  private func completed(
    _ data: JSONObject
  ) throws(IngestError) -> (document: [UInt8], value: JSONValue) {
    var event = data
    if event.given("type") == nil { event["type"] = .string(try ownType()) }
    if event.given("id") == nil { event["id"] = attributes["id"] }
    if event.given("occurred_at") == nil { event["occurred_at"] = try ownTime() }
    let value = JSONValue.object(event)
    return (Array(JSONText.compact(value).utf8), value)
  }

  private func ownTime() throws(IngestError) -> JSONValue? {
    guard let time = try text("time") else { return nil }
    guard Timestamp.milliseconds(time) != nil else {
      throw IngestError(
        .badTime,
        "time must be like 2026-11-21T08:00:00Z (RFC 3339), not \(Excerpt.quoted(time))")
    }
    return .string(time)
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
        "type must end in \(EventDecoder.usualType) or \(EventDecoder.endType), unless data has "
          + "one, and is \(Excerpt.quoted(type))")
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

extension JSONObject {
  /// Nil for null too: many serializers write what is not set so.
  fileprivate func given(_ name: String) -> JSONValue? {
    guard let value = self[name], !value.isNull else { return nil }
    return value
  }
}

/// A media type as `Content-Type` and CloudEvents' `datacontenttype` write it (RFC 9110, 8.3.1).
/// Parameters are passed over: of JSON they say nothing (RFC 8259, 11).
package struct MediaType {
  /// `application/json`: in lower case.
  private let essence: String

  package init(_ text: String) {
    let beginning = text.prefix { $0 != ";" }
    let bare = beginning.drop(while: Self.isSpace)
    essence = bare.prefix { !Self.isSpace($0) }.lowercased()
  }

  private static func isSpace(_ character: Character) -> Bool {
    character == " " || character == "\t"
  }

  package var isEmpty: Bool { essence.isEmpty }

  /// Also `application/vnd.example+json` (RFC 6839).
  package var isJSON: Bool {
    ["application/json", "text/json"].contains(essence)
      || (essence.hasSuffix("+json") && essence.contains("/"))
  }

  /// An envelope of CloudEvents, of JSON or another format.
  package var isCloudEvent: Bool { essence.hasPrefix("application/cloudevents+") }

  package var isCloudEventsBatch: Bool { essence.hasPrefix("application/cloudevents-batch") }

  /// As a reason may show it.
  package var quoted: String { Excerpt.quoted(essence) }
}
