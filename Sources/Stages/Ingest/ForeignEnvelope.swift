import JSON
import Kafka

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
