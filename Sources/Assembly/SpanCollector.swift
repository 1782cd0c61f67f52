import Deliver
import Settings
import SingleRequests
import Spans
import TLS
import Text
import Transport

/// Sends spans to the collector of `traces.endpoint`: over HTTP/1.1 without TLS, over HTTP/2 with
/// it, each time on a connection of its own.
struct SpanCollector: Sendable {
  private let address: HTTPAddress
  private let tls: TLSClientContext
  private let fields: [AppleRequest.Field]
  /// Ms since 1970.
  private let wallClock: @Sendable () -> Int64

  /// nil without a collector.
  /// - Parameter wallClock: ms since 1970.
  init?(
    _ traces: Settings.Traces, wallClock: @escaping @Sendable () -> Int64
  ) throws(SettingsError) {
    guard let endpoint = traces.endpoint else { return nil }
    guard let address = HTTPAddress(endpoint) else {
      throw Assembly.problem(
        "traces.endpoint", "is no https:// or http:// address with a host",
        hint: "it is like http://collector:4318/v1/traces")
    }
    guard let own = Self.fields(traces.headers?.exposed ?? "") else {
      throw Assembly.problem(
        "traces.headers", "must be name=value, several separated by commas",
        hint: "names have letters, digits and '-'; values have no spaces that are not encoded")
    }
    self.address = address
    tls = try Assembly.security("traces.ca_file", traces.caFile, protocols: ["h2"])
    fields = [AppleRequest.Field("content-type", "application/json")] + own
    self.wallClock = wallClock
  }

  func send(_ document: String, timeout: Duration) async -> CollectorReply {
    let request = AppleRequest(
      path: address.path, fields: fields, body: document,
      maximumAnswerBytes: CollectorReply.maximumBytes)
    let reply =
      address.isPlain
      ? await PlainRequest.ask(request, of: address.endpoint, timeout: timeout)
      : await SingleRequest.ask(
        request, on: RouteTarget(endpoint: address.endpoint, tls: tls), authorization: nil,
        timeout: timeout)
    guard let status = reply.status else {
      return .failure("\(address.endpoint): \(reply.failure ?? "no answer")")
    }
    let retryAfter = reply.field("retry-after").flatMap { value in
      Array(value.utf8).withUnsafeBytes { RetryAfter.parse($0, now: wallClock()) }
    }
    return .answer(status: status, body: reply.body, retryAfter: retryAfter)
  }

  /// As OpenTelemetry's `OTEL_EXPORTER_OTLP_HEADERS` has them. nil for what is none such.
  static func fields(_ text: String) -> [AppleRequest.Field]? {
    var fields: [AppleRequest.Field] = []
    for pair in text.split(separator: ",") {
      let parts = pair.split(separator: "=", maxSplits: 1).map { part in
        part.drop { $0 == " " }
      }
      guard parts.count == 2, let value = percentDecoded(parts[1]) else { return nil }
      // HTTP/2 has names in lower case.
      let name = parts[0].lowercased()
      let isName = name.utf8.allSatisfy { $0.isASCIIWord || $0 == 0x2D || $0 == 0x5F }
      guard isName, !name.isEmpty, value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
        return nil
      }
      fields.append(AppleRequest.Field(name, value))
    }
    return fields
  }

  /// A percent sign that begins no pair of digits stands for itself.
  private static func percentDecoded(_ text: Substring) -> String? {
    let bytes = Array(text.utf8).withUnsafeBytes { PercentText.decoded($0, isStrict: false) }
    return bytes.flatMap { String(validating: $0, as: UTF8.self) }
  }
}

extension Assembly {
  /// Where a worker's spans go; nil where no collector is configured.
  /// - Parameters:
  ///   - version: of the program.
  ///   - wallClock: ms since 1970.
  package static func spanOptions(
    _ settings: Settings, version: String, wallClock: @escaping @Sendable () -> Int64
  ) throws(SettingsError) -> SpanOptions? {
    guard let collector = try SpanCollector(settings.traces, wallClock: wallClock) else {
      return nil
    }
    var attributes = [
      ("service.name", "fanfare"), ("service.version", version),
      ("service.instance.id", settings.worker.id),
    ]
    let own = settings.traces.attributes.sorted { $0.key < $1.key }
    attributes.removeAll { attribute in own.contains { $0.key == attribute.0 } }
    attributes += own.map { ($0.key, $0.value) }
    let document = OTLPDocument(
      attributes: attributes.map { Span.Attribute($0, .text($1)) }, version: version)
    return SpanOptions(document: document) { await collector.send($0, timeout: $1) }
  }
}
