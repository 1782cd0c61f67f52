import Ingest
import JSON
import Kafka
import Model
import Text

/// Writes events to Kafka for backends that have no client of their own: validated as a worker
/// validates them, so that nothing is taken here and put aside there. Confined to the loop.
final class EventDoor {
  private let options: APIOptions
  private let ingest: IngestStage
  private let writer: KafkaWriter

  /// - Parameter writer: of the topic of events.
  init(_ options: APIOptions, writer: KafkaWriter) {
    self.options = options
    ingest = IngestStage(options: options.ingest)
    self.writer = writer
  }

  var routes: [APIRoute] {
    let limit = options.ingest.maximumEventBytes
    return [
      APIRoute("POST", "/v1/fanouts", .appServer, maximumBodyBytes: limit) {
        (request) async throws(Problem) in try await self.take(request)
      }
    ]
  }

  private func take(_ request: APIRequest) async throws(Problem) -> APIResponse {
    try checkType(of: request)
    try request.allowArguments([])
    let message = KafkaMessage(
      topic: options.ingest.eventsTopic, partition: 0, offset: 0, key: nil,
      value: request.http.body, timestamp: 0,
      headers: attributes(of: request) + Self.trace(of: request))
    switch ingest.decode(message, now: options.wallClock()) {
    case .event(let event):
      request.notes.add("event", event.id)
      request.notes.add("streamer", event.streamer)
      return try await write(event)
    case .ended(let end):
      request.notes.add("streamer", end.streamer)
      request.notes.add("ended", end.stream)
      let place = try await send(key: end.streamer, request.http.body, message.headers)
      let members: [(String, JSONValue)] = [
        ("streamer", .string(end.streamer)), ("ended", .string(end.stream)),
      ]
      return APIResponse(status: 202, body: .object(JSONObject(members + place)))
    case .segment, .plan:
      throw Problem(.invalid, "this is a segment, not an event", reason: "bad_segment")
    case .early(_, let error):
      // A time that is too far ahead is no matter of clocks.
      let code: Problem.Code = error.code == .badTime ? .invalid : .conflict
      throw Problem(code, error.reason, reason: error.code.rawValue)
    case .malformed(let error):
      let code: Problem.Code =
        switch error.code {
        case .notJSON, .duplicateKey, .tombstone: .malformedRequest
        case .tooLarge: .tooLarge
        default: .invalid
        }
      throw Problem(code, error.reason, reason: error.code.rawValue)
    }
  }

  /// JSON by any of its names: of CloudEvents in headers it is the event's own type.
  private func checkType(of request: APIRequest) throws(Problem) {
    try request.refuseCoding()
    let type = MediaType(request.http.headers["content-type"] ?? "")
    guard !type.isCloudEventsBatch else {
      throw Problem(
        .unsupportedMediaType,
        "this is a batch of CloudEvents: send each event by itself, as "
          + "application/cloudevents+json")
    }
    guard type.isJSON else {
      throw Problem(
        .unsupportedMediaType,
        "send Content-Type: application/json, or application/cloudevents+json for an envelope"
          + (type.isEmpty ? "" : ", not \(type.quoted)"))
    }
  }

  private func write(_ event: Event) async throws(Problem) -> APIResponse {
    guard !event.isExpired(at: options.wallClock()) else {
      throw Problem(
        .conflict, "the event expired before it came: look at occurred_at and expires_in",
        reason: "expired")
    }
    if let problem = options.templateProblem(event.template) {
      throw Problem(.conflict, problem, reason: IngestError.Code.unknownTemplate.rawValue)
    }
    let place = try await send(
      key: event.streamer, event.document, EventOrigin(of: event).headers)
    return APIResponse(
      status: 202,
      body: .object(
        JSONObject(
          [("id", .string(event.id)), ("streamer", .string(event.streamer))] + place)),
      headers: ["Location": "/v1/fanouts/\(event.id)"])
  }

  /// Of CloudEvents, as their Kafka binding writes what their HTTP binding has in headers.
  private func attributes(of request: APIRequest) -> [KafkaHeader] {
    request.http.headers.sorted { $0.key < $1.key }.filter { $0.key.hasPrefix("ce-") }
      .map {
        KafkaHeader(
          name: "ce_" + $0.key.dropFirst("ce-".count), value: AttributeText.decoded($0.value))
      }
  }

  /// The caller's span, whatever its value: who decodes the event reads it.
  private static func trace(of request: APIRequest) -> [KafkaHeader] {
    request.http.headers["traceparent"].map { [KafkaHeader("traceparent", $0)] } ?? []
  }

  /// Returns when every replica in sync has it (`acks=all`).
  private func send(
    key: String, _ document: [UInt8], _ headers: [KafkaHeader] = []
  ) async throws(Problem) -> [(String, JSONValue)] {
    do throws(KafkaError) {
      let delivery = try await writer.send(key: Array(key.utf8), document, headers)
      return [
        ("topic", .string(options.ingest.eventsTopic)),
        ("partition", .integer(Int64(delivery.partition))), ("offset", .integer(delivery.offset)),
      ]
    } catch {
      throw Problem(error)
    }
  }
}

/// An attribute of CloudEvents as their HTTP binding has it in a header (section 3.1.3.2): perhaps
/// in double quotes, and percent-encoded.
enum AttributeText {
  /// Returns bytes that should be UTF-8. Text that is not percent-encoded stands for itself.
  static func decoded(_ text: String) -> [UInt8] {
    let bytes = unquoted(Array(text.utf8))
    return bytes.withUnsafeBytes { PercentText.decoded($0, isStrict: false) } ?? bytes
  }

  private static func unquoted(_ bytes: [UInt8]) -> [UInt8] {
    let quote = UInt8(ascii: "\"")
    guard bytes.count >= 2, bytes.first == quote, bytes.last == quote else { return bytes }
    var plain: [UInt8] = []
    var isEscaped = false
    for byte in bytes.dropFirst().dropLast() {
      if byte == UInt8(ascii: "\\"), !isEscaped {
        isEscaped = true
      } else {
        plain.append(byte)
        isEscaped = false
      }
    }
    return plain
  }
}
