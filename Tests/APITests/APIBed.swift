import EventLoop
import Fixtures
import HTTPServer
import Ingest
import JSON
import Kafka
import Keyspace
import Redis
import Telemetry
import Testing

@testable import API

/// An API with a Redis and a Kafka of its own, and keys of all scopes.
final class APIBed: Sendable {
  let port: Int
  let redis: RedisFixture
  let broker: EmbeddedBroker
  let server: APIServer
  let audit: MemorySink
  private let secrets: [APIScope: String]

  static let events = "notify-followers"
  /// What the API's clock says.
  static let time = "2026-11-21T08:00:00Z"

  /// With one thread and with four: what one of them knows must not matter.
  static func run(
    _ change: (inout APIOptions) -> Void = { _ in }, _ body: (APIBed) async throws -> Void
  ) async throws {
    for threads in [1, 4] { try await run(threads, change, body) }
  }

  private static func run(
    _ threads: Int, _ change: (inout APIOptions) -> Void, _ body: (APIBed) async throws -> Void
  ) async throws {
    let bed = try await APIBed(threads, change)
    do {
      try await body(bed)
    } catch {
      await bed.server.stop()
      throw error
    }
    await bed.server.stop()
  }

  private init(_ threads: Int, _ change: (inout APIOptions) -> Void) async throws {
    redis = try RedisFixture()
    broker = try EmbeddedBroker(topics: [(name: Self.events, partitions: 2)])
    audit = MemorySink()
    var secrets: [APIScope: String] = [:]
    var lines = ""
    for scope in APIScope.allCases {
      let made = APIKey.make(name: "key-\(scope.rawValue)", scope: scope)
      secrets[scope] = made.secret
      lines += made.line + "\n"
    }
    self.secrets = secrets
    var audited = LogOptions(format: .json)
    audited.repeatLimit = 0
    var options = APIOptions(
      http: HTTPServerOptions(wallClock: { 0 }), redis: RedisOptions(port: redis.server.port),
      kafka: KafkaOptions(bootstrapServers: broker.bootstrapServers), keyspace: Keyspace(),
      ingest: IngestOptions(), plainSetKey: nil, keys: try APIKeyRing(text: lines),
      requestsPerSecond: 10_000, templateProblem: { $0 == "unknown" ? "there is none" : nil },
      log: Log(sink: MemorySink()), audit: Log(audited, sink: audit),
      wallClock: { 1_795_248_000_000 })
    options.threads = threads
    change(&options)
    server = APIServer(options)
    port = try await server.start()
  }

  struct Answer {
    let status: Int
    let head: String
    let body: JSONValue

    subscript(_ name: String) -> JSONValue? { body.object?[name] }
    /// Of a refusal, its code and what it says.
    var problem: String {
      (body.object?["type"]?.string ?? "").replacing("urn:fanfare:problem:", with: "")
    }
    var detail: String { body.object?["detail"]?.string ?? "" }
  }

  /// - Parameter scope: nil: without a key.
  func ask(
    _ method: String, _ target: String, _ body: String? = nil, as scope: APIScope? = .admin,
    headers: [String: String] = [:]
  ) throws -> Answer {
    let client = try RawClient(port: port)
    var lines = ["\(method) \(target) HTTP/1.1", "Host: a", "Connection: close"]
    if let scope { lines.append("Authorization: Bearer \(secrets[scope] ?? "")") }
    if let body {
      lines.append("Content-Length: \(body.utf8.count)")
      if headers["Content-Type"] == nil { lines.append("Content-Type: application/json") }
    }
    lines += headers.map { "\($0.key): \($0.value)" }
    client.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
    let text = try #require(client.readToEnd())
    let parts = text.split(separator: "\r\n\r\n", maxSplits: 1)
    let head = String(try #require(parts.first))
    let status = try #require(Int(head.split(separator: " ")[1]))
    let content = parts.count > 1 ? Array(parts[1].utf8) : []
    return Answer(
      status: status, head: head, body: content.isEmpty ? .null : try JSONValue.parse(content))
  }

  /// The first records of a topic, `count` at most; fewer when no more come in half a minute.
  func records(of topic: String, _ count: Int) throws -> [(key: String, JSONObject)] {
    var options = KafkaOptions(bootstrapServers: broker.bootstrapServers)
    options.group = "test"
    let consumer = try KafkaConsumer(options, topics: [topic]) { _ in }
    defer { _ = consumer.close(timeout: .seconds(5)) }
    try consumer.subscribe()
    var found: [(key: String, JSONObject)] = []
    for _ in 0..<300 where found.count < count {
      guard case .message(let message)? = consumer.poll(timeout: .milliseconds(100)) else {
        continue
      }
      let value = try JSONValue.parse(message.value ?? [])
      found.append(
        (String(decoding: message.key ?? [], as: UTF8.self), value.object ?? JSONObject()))
    }
    return found
  }

  func key(_ scope: APIScope) -> String { secrets[scope] ?? "" }
}
