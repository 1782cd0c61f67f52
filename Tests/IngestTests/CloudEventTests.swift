import Ingest
import JSON
import Kafka
import Testing
import Text

/// CloudEvents as producers write them, over Kafka in both modes; what is none of theirs is named.
@Suite struct CloudEventTests {
  private static let data =
    #"{"app":"com.example.live","streamer":{"id":"s42"},"stream":{"id":"b-991"}}"#
  private static let attributes =
    #""specversion":"1.0","id":"ce-1","source":"/live","type":"com.example.stream.live","#
    + #""time":"2026-11-21T08:00:00Z""#

  private static func envelope(_ more: String) -> String { "{\(attributes),\(more)}" }

  private static func binary(_ more: [KafkaHeader] = []) -> [KafkaHeader] {
    [
      KafkaHeader("ce_specversion", "1.0"), KafkaHeader("ce_id", "ce-1"),
      KafkaHeader("ce_source", "/live"), KafkaHeader("ce_type", "com.example.stream.live"),
      KafkaHeader("ce_time", "2026-11-21T08:00:00Z"),
    ] + more
  }

  private static let deep =
    String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
  private static let quoted = JSONText.compact(.string(data))
  private static let base64 = Base64.encode(Array(data.utf8))

  @Test(arguments: [
    #""data":\#(data)"#,
    #""data":\#(data),"datacontenttype":null,"dataschema":null,"subject":null,"data_base64":null"#,
    #""data":\#(data),"datacontenttype":"application/json; charset=utf-8""#,
    #""data":\#(data),"datacontenttype":"Text/JSON""#,
    #""data":\#(data),"datacontenttype":"application/vnd.example.live+json;v=1""#,
    #""data":\#(data),"subject":7,"dataschema":[],"traceparent":{"a":[null]},"PARTITIONKEY":true"#,
    #""data":\#(data),"sequence":1.5,"ext":"\#(String(repeating: "x", count: 20_000))""#,
    #""data":\#(data),"\#(String(repeating: "n", count: 5_000))":1"#,
    #""data":\#(data),"ext":\#(deep)"#,
    #""data":\#(quoted)"#, #""data":\#(quoted),"datacontenttype":"application/json""#,
    #""data_base64":"\#(base64)""#, #""data":null,"data_base64":"\#(base64)""#,
  ])
  func anEnvelopeIsTaken(_ more: String) throws {
    let event = try #require(decode(Self.envelope(more)).event, "\(more.prefix(100))")
    #expect(event.id == "ce-1")
    #expect(event.occurredAt == sampleTime)
    #expect(event.streamer == "s42")
  }

  @Test(arguments: [
    [], [KafkaHeader(name: "ce_subject", value: nil), KafkaHeader(name: "ce_ext", value: [0xFF])],
    [KafkaHeader("content-type", "application/json; charset=UTF-8")],
    [KafkaHeader("ce_datacontenttype", "whatever"), KafkaHeader("CE_SUBJECT", "x")],
  ])
  func attributesInHeadersAreTaken(_ more: [KafkaHeader]) throws {
    let result = decode(message(Array(Self.data.utf8), headers: Self.binary(more)))
    let event = try #require(result.event)
    #expect(event.id == "ce-1")
    #expect(event.occurredAt == sampleTime)
  }

  /// Header names in whatever case.
  @Test func headersInUpperCaseAreTaken() {
    let headers = Self.binary().map { KafkaHeader(name: $0.name.uppercased(), value: $0.value) }
    #expect(decode(message(Array(Self.data.utf8), headers: headers)).event?.id == "ce-1")
  }

  /// What the event says itself is not asked of the envelope.
  @Test(arguments: [#""yesterday""#, "1795248000000", "null", #""""#])
  func aTimeThatNobodyNeedsFailsNothing(_ time: String) {
    let text =
      #"{"specversion":"1.0","id":"ce-1","source":"/live","type":"other","time":\#(time),"#
      + #""data":\#(sampleText.replacing(#"{"id""#, with: #"{"type":"stream.live","id""#))}"#
    #expect(decode(text.replacing("\n", with: "")).event?.id == "live-8f2c")
    var headers = Self.binary().filter { $0.name != "ce_time" }
    headers.append(KafkaHeader(name: "ce_time", value: nil))
    #expect(decode(message(Array(sampleText.utf8), headers: headers)).event?.id == "live-8f2c")
  }

  /// Serializers write what is not set so.
  @Test func aNullInTheEventIsFilledFromTheEnvelope() {
    let data = Self.data.replacing(
      "{\"app\"", with: #"{"id":null,"type":null,"occurred_at":null,"app""#)
    let event = decode(Self.envelope(#""data":\#(data)"#)).event
    #expect(data.contains("null") && event?.id == "ce-1")
  }

  @Test func headersThatDifferAreRefused() {
    let again = Self.binary() + [KafkaHeader("ce_id", "ce-1")]
    #expect(decode(message(Array(Self.data.utf8), headers: again)).event?.id == "ce-1")
    let other = Self.binary() + [KafkaHeader("CE_ID", "ce-2")]
    #expect(decode(message(Array(Self.data.utf8), headers: other)).error?.code == .duplicateKey)
  }

  @Test func aNullAttributeIsAnAbsentOne() {
    let noTime = Self.envelope(#""data":\#(Self.data)"#)
      .replacing(#""2026-11-21T08:00:00Z""#, with: "null")
    #expect(
      decode(noTime).error == IngestError(.missingField, "occurred_at is missing"))
    let noID = Self.envelope(#""data":\#(Self.data)"#).replacing(#""ce-1""#, with: "null")
    #expect(decode(noID).error?.reason == "id is missing, which CloudEvents requires")
    let noVersion = sampleText.replacing(#"{"id""#, with: #"{"specversion":null,"id""#)
    #expect(decode(noVersion).error?.code == .unknownField)
  }

  private static let xml = #""data":\#(data),"datacontenttype":"application/xml""#
  private static let refusals: [(String, IngestError.Code, String)] = [
    (xml, .badType, "application/xml"),
    (#""datacontenttype":"application/json""#, .missingField, "data is missing"),
    (#""data":\#(data),"data_base64":"\#(base64)""#, .wrongType, "both"),
    (#""data":"{""#, .notJSON, "data holds a text that is not JSON: line 1"),
    (#""data":"[]""#, .wrongType, "data holds an object, not an array"),
    (#""data":[]"#, .wrongType, "data is an object, not an array"),
    (#""data_base64":"?""#, .badText, "base64"), (#""data_base64":7"#, .badText, "base64"),
  ]

  @Test(arguments: refusals)
  func anEnvelopeIsRefusedWithWhatWasFound(
    _ more: String, _ code: IngestError.Code, _ words: String
  ) {
    let error = decode(Self.envelope(more)).error
    #expect(error?.code == code)
    #expect(error?.reason.contains(words) == true, "\(error?.reason ?? "")")
  }

  @Test(arguments: ["0.3", "1.1", "1.0.2", "2.0"])
  func anotherVersionIsNamed(_ version: String) {
    let text = Self.envelope(#""data":\#(Self.data)"#)
      .replacing(#""specversion":"1.0""#, with: #""specversion":"\#(version)""#)
    let reason = decode(text).error?.reason ?? ""
    #expect(reason.contains(#"specversion must be 1.0, not "\#(version)""#), "\(reason)")
  }

  // MARK: what is none

  private static let strangers: [(value: String, words: String)] = [
    (#"{"cloudEventsVersion":"0.1","eventType":"x","data":{}}"#, "CloudEvents 0.1"),
    (#"{"SpecVersion":"1.0","Id":"1","Data":{}}"#, "specversion, not \"SpecVersion\""),
    (#"{"version":"0","detail-type":"x","source":"a","detail":{}}"#, "EventBridge"),
    (#"{"Type":"Notification","TopicArn":"a","Message":"{}"}"#, "SNS"),
    (#"{"Records":[{"eventSource":"aws:s3"}]}"#, "records of AWS"),
    (#"{"schema":{},"payload":{}}"#, "Kafka Connect"),
    (#"{"before":null,"after":{},"source":{},"op":"c","ts_ms":1}"#, "Debezium"),
    (#"{"messageId":"1","messageType":["urn:message:x"],"message":{}}"#, "MassTransit"),
    (#"{"eventType":"x","eventTime":"y","dataVersion":"1","data":{}}"#, "Event Grid"),
    (#"{"message":{"data":"e30="},"subscription":"s"}"#, "Pub/Sub"),
    (#"{"event":{"streamer":{"id":"s"},"stream":{"id":"b"}}}"#, #"its member "event""#),
    ("[\(sampleText)]", "batch"), (JSONText.compact(.string(sampleText)), "serialized twice"),
    (sampleText.replacing("occurred_at", with: "occurredAt"), "it is written occurred_at"),
  ]

  @Test(arguments: strangers)
  func anotherEnvelopeIsNamed(_ value: String, _ words: String) {
    let reason = decode(value).error?.reason ?? ""
    #expect(reason.contains(words), "\(reason)")
    #expect(reason.utf8.count <= 512)
  }

  private static let headers: [(name: String, words: String)] = [
    ("cloudEvents:specversion", "write ce_specversion"), ("cloudEvents_id", "write ce_id"),
    ("ce-specversion", "write ce_specversion"), ("ce-id", "write ce_id"),
    ("X-Ce-Id", "write ce_id"), ("x_ce_time", "write ce_time"), ("ce.source", "write ce_source"),
    ("Ce-DataContentType", "write content-type"), ("ce-traceparent", "write ce_…"),
    ("ce_type", "over HTTP ce-…) and no specversion"),
    ("specversion", "write ce_specversion"), ("X-Ce-Specversion", "write ce_specversion"),
    ("kafka_ce_specversion", "write ce_specversion"),
    ("NServiceBus.EnclosedMessageTypes", "NServiceBus"), ("MT-Activity-Id", "MassTransit"),
    ("__TypeId__", "Spring"), ("spring_json_header_types", "Spring"),
  ]

  /// Only where the record is refused: what is an event stays one, whatever its headers are.
  @Test(arguments: headers)
  func headersOfAnotherSystemAreNamed(_ name: String, _ words: String) {
    let headers = [KafkaHeader(name, "1.0")]
    let reason = decode(message(Array(Self.data.utf8), headers: headers)).error?.reason ?? ""
    #expect(reason.contains("id is missing") && reason.contains(words), "\(reason)")
    #expect(decode(message(Array(sampleText.utf8), headers: headers)).event != nil)
  }

  /// A sender that maps some of its names as the binding has them, and others as HTTP does.
  @Test func theHeaderThatWasMeantIsNamedBesideOnesThatAreRight() {
    let mixed = Self.binary().map { $0.name == "ce_id" ? KafkaHeader("X-Ce-Id", "ce-1") : $0 }
    let reason = decode(message(Array(Self.data.utf8), headers: mixed)).error?.reason ?? ""
    #expect(reason.hasPrefix("id is missing, which CloudEvents requires"), "\(reason)")
    #expect(reason.contains(#""X-Ce-Id""#) && reason.hasSuffix("write ce_id"), "\(reason)")
  }

  private static let formats: [(bytes: [UInt8], type: String, words: String)] = [
    ([0, 0, 0, 0, 7] + Array(data.utf8), "", "Schema Registry (schema 7)"),
    ([0x03, 0x05] + [UInt8](repeating: 0x41, count: 20), "", "Glue"),
    ([0xC3, 0x01, 0x41, 0x41], "", "Avro"), (Array("Obj\u{1}x".utf8), "", "Avro"),
    ([0x1F, 0x8B, 8, 0], "", "gzip"), ([0xAC, 0xED, 0, 5], "", "Java"),
    ([0x0A, 0x04] + Array("live".utf8) + [0x12, 0x03], "", "Protobuf"),
    (Array("<event/>".utf8), "", "XML"),
    (Array("id=1".utf8), "application/cloudevents+avro", "application/cloudevents+avro"),
    (Array("[\(data)]".utf8), "application/cloudevents-batch+json", "batch of CloudEvents"),
    (
      Array(data.utf8), "application/cloudevents+json; charset=UTF-8", "no specversion"
    ),
  ]

  @Test(arguments: formats)
  func aFormatThatIsNotJSONIsNamed(_ bytes: [UInt8], _ type: String, _ words: String) {
    let headers = type.isEmpty ? [] : [KafkaHeader("content-type", type)]
    let reason = decode(message(bytes, headers: headers)).error?.reason ?? ""
    #expect(reason.contains(words), "\(reason)")
  }
}
