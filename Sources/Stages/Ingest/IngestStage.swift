import JSON
import Kafka
import Model
import Text

/// The entrance: gate the size → parse strictly → validate every field. Pure; a record that is
/// wrong gets a code and a reason, never a trap, and disturbs nothing else.
package struct IngestStage: Sendable {
  private let options: IngestOptions

  /// Far beyond what an event needs: extensions of CloudEvents, which nobody looks at, are theirs
  /// to shape. Reading them is recursive, some 200 bytes of stack a level.
  static let maximumDepth = 512

  package init(options: IngestOptions) { self.options = options }

  /// - Parameter now: ms since 1970.
  package func decode(_ message: KafkaMessage, now: Int64) -> IngestResult {
    do {
      if [options.segmentsTopic, options.bulkTopic, options.stragglersTopic]
        .contains(message.topic)
      {
        return try decodeSegment(message)
      }
      return try decodeEvent(message, now: now)
    } catch {
      return .malformed(error)
    }
  }

  private func decodeEvent(
    _ message: KafkaMessage, now: Int64
  ) throws(IngestError) -> IngestResult {
    let record: (document: [UInt8], value: JSONValue)
    do throws(IngestError) {
      record = try parse(message, limit: options.maximumEventBytes)
    } catch {
      guard error.code == .notJSON else { throw error }
      throw error.with(
        hint: ForeignFormat.hint(message.value ?? [])
          ?? ForeignEnvelope.hint(headers: message.headers))
    }
    do throws(IngestError) {
      return try decode(record.document, record.value, of: message, now: now)
    } catch {
      guard error.code != .keyMismatch else { throw error }
      throw error.with(hint: ForeignEnvelope.hint(record.value, headers: message.headers))
    }
  }

  private func decode(
    _ document: [UInt8], _ value: JSONValue, of message: KafkaMessage, now: Int64
  ) throws(IngestError) -> IngestResult {
    let origin = EventOrigin(ofEvent: message, value)
    let (document, value) = try CloudEvent.unwrap(
      value, document: document, headers: message.headers)
    let decoder = EventDecoder(options: options, origin: origin)
    if let end = try decoder.decodeEnd(value) {
      try checkKey(message, end.streamer)
      return .ended(end)
    }
    let event = try decoder.decode(value, document: document)
    try checkKey(message, event.streamer)
    if let error = early(event, at: now) { return .early(event, error) }
    return .event(event)
  }

  /// An event of which `document` was kept.
  /// - Parameter origin: what is known of it beside that.
  package func event(
    document: [UInt8], origin: EventOrigin = EventOrigin()
  ) throws(IngestError) -> Event {
    let value: JSONValue
    do {
      value = try JSONValue.parse(
        document, maximumBytes: options.maximumEventBytes, maximumDepth: Self.maximumDepth)
    } catch {
      throw IngestError(.notJSON, "\(error)")
    }
    return try EventDecoder(options: options, origin: origin).decode(value, document: document)
  }

  /// Whether the event says that it happened later than the live backend's clock may be ahead, or
  /// wants to be sent later than events may.
  ///
  /// - Parameter now: ms since 1970 by the clock that is believed.
  package func isEarly(_ event: Event, at now: Int64) -> Bool { early(event, at: now) != nil }

  private func early(_ event: Event, at now: Int64) -> IngestError? {
    if event.occurredAt > now + options.clockSkew.wholeMilliseconds {
      return IngestError(
        .occurredInFuture,
        "occurred_at is \((event.occurredAt - now) / 1000) s ahead of this worker's clock")
    }
    guard let sendAt = event.sendAt,
      sendAt.due.upperBound > now + options.maximumSendAhead.wholeMilliseconds
    else { return nil }
    return IngestError(
      .badTime,
      "send_at is \((sendAt.due.upperBound - now) / 1000) s ahead, "
        + "\(options.maximumSendAhead.wholeMilliseconds / 1000) s are allowed "
        + "(events.maximum_send_ahead)")
  }

  private func decodeSegment(_ message: KafkaMessage) throws(IngestError) -> IngestResult {
    var limit = options.maximumEventBytes + IngestOptions.segmentOverheadBytes
    if message.topic == options.stragglersTopic { limit += IngestOptions.stragglerBytes }
    let (_, value) = try parse(message, limit: limit)
    let origin = EventOrigin(ofSegment: message.headers)
    return try SegmentRecord.decode(value, events: EventDecoder(options: options, origin: origin))
  }

  private func parse(
    _ message: KafkaMessage, limit: Int
  ) throws(IngestError) -> (document: [UInt8], value: JSONValue) {
    guard let document = message.value else {
      throw IngestError(.tombstone, "the record has no value")
    }
    guard document.count <= limit else {
      throw IngestError(.tooLarge, "the record has \(document.count) bytes, \(limit) are allowed")
    }
    do {
      let value = try JSONValue.parse(
        document, maximumBytes: limit, maximumDepth: Self.maximumDepth)
      return (document, value)
    } catch {
      let code: IngestError.Code = error.code == .duplicateKey ? .duplicateKey : .notJSON
      throw IngestError(code, "\(error)")
    }
  }

  /// The key decides the partition, and so the order of a streamer's events.
  private func checkKey(_ message: KafkaMessage, _ streamer: String) throws(IngestError) {
    guard let key = message.key, !key.isEmpty else { return }
    guard key.elementsEqual(streamer.utf8) else {
      throw IngestError(.keyMismatch, "the record's key is not streamer.id")
    }
  }
}

/// The meaning of a record from Kafka.
package enum IngestResult: Sendable, Equatable {
  case event(Event)
  /// An event from the future as this worker's clock sees it: ask another clock before it goes to
  /// the dead letters for this reason.
  case early(Event, IngestError)
  /// A stream is over.
  case ended(StreamEnd)
  case segment(Segment)
  /// More segments of a very large event are to be written.
  case plan(RemainingPlan)
  /// For the dead letters: no later try will make it better.
  case malformed(IngestError)
}

/// Names the format of a record that is not JSON by the bytes it begins with, and what the writer
/// has to change.
enum ForeignFormat {
  private static let beginnings: [(bytes: [UInt8], hint: String)] = [
    ([0x1F, 0x8B], "it is compressed with gzip: let the producer compress (compression.type)"),
    (
      [0x28, 0xB5, 0x2F, 0xFD],
      "it is compressed with zstd: let the producer compress (compression.type)"
    ),
    (
      [0x04, 0x22, 0x4D, 0x18],
      "it is compressed with LZ4: let the producer compress (compression.type)"
    ),
    (Array("Obj\u{1}".utf8), "it is a file of Avro: write JSON"),
    ([0xC3, 0x01], "it is Avro (single-object encoding): write JSON"),
    ([0xAC, 0xED, 0x00, 0x05], "it is an object that Java serialized: write JSON"),
    ([0x03, 0x00], "it looks like AWS Glue's schema registry: write JSON without its serializer"),
    ([0x03, 0x05], "it looks like AWS Glue's schema registry: write JSON without its serializer"),
    ([0x3C], "it looks like XML: write JSON"),
  ]
  /// Magic byte and id of a schema.
  private static let registryBytes = 5

  /// Nil for what looks like nothing in particular.
  static func hint(_ bytes: [UInt8]) -> String? {
    if let known = beginnings.first(where: { bytes.starts(with: $0.bytes) }) { return known.hint }
    guard let first = bytes.first else { return nil }
    // Of UTF-16 the second byte is a character; that refusal has words of its own.
    if first == 0, bytes.count > registryBytes, bytes[1] == 0 || bytes[1] > 0x7F {
      let schema = bytes[1..<registryBytes].reduce(0) { $0 << 8 | UInt32($1) }
      return "it begins with the magic byte of a Schema Registry (schema \(schema)): write JSON "
        + "with a plain serializer, not Avro, Protobuf or JSON Schema"
    }
    let isUTF16 =
      bytes.prefix(2).contains(0) || bytes.starts(with: [0xFE, 0xFF])
      || bytes.starts(with: [0xFF, 0xFE])
    if isUTF16 { return nil }
    let isBinary = bytes.prefix(64).contains { $0 < 0x20 && ![0x09, 0x0A, 0x0D].contains($0) }
    if isBinary { return "it looks binary, such as Protobuf, Avro or MessagePack: write JSON" }
    if bytes.starts(with: Array("eyJ".utf8)) { return "it looks like base64: write JSON as it is" }
    return nil
  }
}

/// Names the envelope of another system around what is no event of ours, so that its refusal says
/// what the writer has to change. Nothing is refused for it: what is an event stays one, whatever
/// stands in its headers.
enum ForeignEnvelope {
  /// Nil for what looks like nothing in particular.
  static func hint(_ value: JSONValue, headers: [KafkaHeader]) -> String? {
    let type = contentType(headers)
    if type.isCloudEventsBatch { return "it is a batch of CloudEvents: \(alone)" }
    switch value {
    case .array: return "if it is a batch: \(alone)"
    case .string(let text):
      guard (try? JSONValue.parse(Array(text.utf8)))?.object != nil else { return nil }
      return "it is JSON in a string: it was serialized twice"
    case .object(let object):
      // CloudEvents' own: its refusal says what is wrong with it.
      guard object["specversion"] ?? .null == .null else { return nil }
      return ofMembers(object) ?? ofHeaders(headers) ?? ofType(type, object)
    default: return nil
    }
  }

  /// Of a value that is not even JSON.
  static func hint(headers: [KafkaHeader]) -> String? {
    let type = contentType(headers)
    if type.isEmpty || (type.isJSON && !type.isCloudEventsBatch) { return nil }
    return "its header content-type says \(type.quoted): write JSON"
  }

  private static let alone = "write each event as a record of its own"

  private static func contentType(_ headers: [KafkaHeader]) -> MediaType {
    let header = headers.first { $0.name.lowercased() == "content-type" }
    return MediaType(String(decoding: (header?.value ?? []).prefix(256), as: UTF8.self))
  }

  private static func ofType(_ type: MediaType, _ object: JSONObject) -> String? {
    guard type.isCloudEvent, object["specversion"] == nil else { return nil }
    return "its header content-type says \(type.quoted), and it has no specversion"
  }

  // MARK: members

  /// Members that are all there, and whose envelope that is.
  private static let envelopes: [(members: [String], hint: String)] = [
    (
      ["cloudEventsVersion"],
      "it is an envelope of CloudEvents 0.1: write version 1.0, with specversion"
    ),
    (["detail-type", "detail"], "it is an event of AWS EventBridge: forward its detail alone"),
    (
      ["TopicArn", "Message"],
      "it is a notification of AWS SNS: turn on raw message delivery, or forward its Message alone"
    ),
    (["Records"], "it is a list of records of AWS: \(alone)"),
    (["records"], "it is a list of records, as Kafka's REST proxy takes it: \(alone)"),
    (
      ["schema", "payload"],
      "it is the envelope of Kafka Connect, Debezium's too: set "
        + "value.converter.schemas.enable=false"
    ),
    (
      ["op", "source"],
      "it is a change as Debezium writes it: forward the row alone (ExtractNewRecordState, or the "
        + "outbox event router)"
    ),
    (
      ["operationType", "ns"],
      "it is a change of MongoDB: forward the document alone (publish.full.document.only)"
    ),
    (
      ["messageType", "message"],
      "it is the envelope of MassTransit: use its raw JSON serializer, or forward its message alone"
    ),
    (
      ["eventType", "eventTime", "dataVersion"],
      "it is of Azure Event Grid's own schema: choose CloudEvents 1.0 there"
    ),
    (
      ["message", "subscription"],
      "it is a push of Google Cloud Pub/Sub: turn on payload unwrapping"
    ),
    (["$type"], "it names a .NET type ($type): write the event's members alone"),
    (["@class"], "it names a Java class (@class): write the event's members alone"),
    (["@type"], "it names a type (@type): write the event's members alone"),
  ]

  private static func ofMembers(_ object: JSONObject) -> String? {
    if let known = envelopes.first(where: { $0.members.allSatisfy { object[$0] != nil } }) {
      return known.hint
    }
    for member in object.members {
      if member.name != "specversion", member.name.lowercased() == "specversion" {
        return "names of CloudEvents' attributes are in lower case: specversion, not "
          + Excerpt.quoted(member.name)
      }
      if let inner = member.value.object, inner["streamer"] != nil, inner["stream"] != nil {
        return "its member \(Excerpt.quoted(member.name)) looks like the event: write that alone"
      }
    }
    return nil
  }

  // MARK: headers

  /// Prefixes of attributes in other bindings of CloudEvents, in lower case, and as libraries map
  /// these.
  private static let attributePrefixes = [
    "cloudevents:", "cloudevents_", "cloudevents-", "ce-", "ce:", "ce.", "x-ce-", "x_ce_",
  ]

  /// Prefixes of other systems' headers, in lower case, and what they say.
  private static let prefixes: [(prefix: String, hint: String)] = [
    ("nservicebus.", "is of NServiceBus: its message must have the members of an event"),
    ("mt-", "is of MassTransit: its message must have the members of an event"),
    ("rbs2-", "is of Rebus: its message must have the members of an event"),
    ("__typeid__", ofSpring), ("spring_json_header_types", ofSpring),
    ("aeg-", "is of Azure Event Grid: choose CloudEvents 1.0 there"),
  ]
  private static let ofSpring =
    "is of Spring: what its serializer writes must have the members of an event"

  private static func ofHeaders(_ headers: [KafkaHeader]) -> String? {
    for header in headers {
      if let hint = ofAttribute(header) { return hint }
      let name = header.name.prefix(64).lowercased()
      if let known = prefixes.first(where: { name.hasPrefix($0.prefix) }) {
        return "its header \(Excerpt.quoted(header.name)) \(known.hint)"
      }
    }
    let attributes = headers.compactMap(CloudEvent.attributeName)
    guard !attributes.isEmpty, !attributes.contains("specversion") else { return nil }
    return "it has headers of CloudEvents (ce_…, over HTTP ce-…) and no specversion among them, "
      + "which CloudEvents requires: 1.0"
  }

  /// Names the header that holds the same attribute in the Kafka binding.
  private static func ofAttribute(_ header: KafkaHeader) -> String? {
    guard CloudEvent.attributeName(of: header) == nil else { return nil }
    let name = header.name.prefix(64).lowercased()
    let prefix = attributePrefixes.first { name.hasPrefix($0) }
    let attribute = prefix.map { String(name.dropFirst($0.count)) }
    guard let meant = attribute ?? (name.hasSuffix("specversion") ? "specversion" : nil) else {
      return nil
    }
    return "its header \(Excerpt.quoted(header.name)) is not of CloudEvents' Kafka binding: write "
      + CloudEvent.header(ofAttribute: meant)
  }
}
