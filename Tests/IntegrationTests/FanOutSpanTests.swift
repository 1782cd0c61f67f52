import Assembly
import Devices
import EventLoop
import HTTPServer
import JSON
import Kafka
import Pipeline
import Settings
import Telemetry
import TestBed
import Testing
import Threads

/// A collector of OpenTelemetry, as far as spans go: takes requests at `/v1/traces`.
private final class TestCollector: Sendable {
  struct Span: Sendable {
    let name: String
    let trace: String
    let id: String
    let parent: String?
  }

  let spans = ThreadLock<[Span]>([])
  let requests = ThreadLock(0)
  private let loop = EventLoop(name: "collector")
  private let server = ThreadLock<HTTPServer?>(nil)

  deinit { loop.stop() }

  /// Returns the address.
  func start(status: Int = 200) async throws -> String {
    let options = HTTPServerOptions(wallClock: { WallClock.nowMilliseconds() })
    let server = HTTPServer(loop: loop, options: options) { [spans, requests] request in
      requests.withLock { $0 += 1 }
      guard request.path == "/v1/traces", request.headers["content-type"] == "application/json",
        status == 200
      else { return .text(status == 200 ? 404 : status, "no") }
      let found = Self.spans(request.body)
      spans.withLock { $0 += found }
      return .text(200, "{}")
    }
    self.server.withLock { $0 = server }
    return "http://127.0.0.1:\(try await server.start())/v1/traces"
  }

  private static func spans(_ body: [UInt8]) -> [Span] {
    let document = (try? JSONValue.parse(body))?.object
    let resource = document?["resourceSpans"]?.array?.first?.object
    let scope = resource?["scopeSpans"]?.array?.first?.object
    return (scope?["spans"]?.array ?? []).compactMap(\.object).map {
      Span(
        name: $0["name"]?.string ?? "", trace: $0["traceId"]?.string ?? "",
        id: $0["spanId"]?.string ?? "", parent: $0["parentSpanId"]?.string)
    }
  }
}

/// An event with a trace → spans at a collector.
@Suite(.serialized) struct FanOutSpanTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let producer = "00f067aa0ba902b7"

  private static func traces(
    _ endpoint: String, share: Double = 0
  ) throws -> (inout PipelineOptions) -> Void {
    var settings = Settings.defaults
    settings.traces.endpoint = endpoint
    let spans = try Assembly.spanOptions(
      settings, version: "test", wallClock: { WallClock.nowMilliseconds() })
    return {
      $0.spans = spans
      $0.ingest.rootTraceShare = share
    }
  }

  private static func emit(_ bed: WorkerBed, _ id: String, sampled: Bool) async throws {
    let document = """
      {"id":"\(id)","app":"\(WorkerBed.app)","streamer":{"id":"s1","name":"Aiko"},\
      "stream":{"id":"b1","title":"Speedrun night"},"template":"go-live",\
      "occurred_at":"\(WallClock.rfc3339(WallClock.nowMilliseconds()))","expires_in":900}
      """
    let parent = "00-\(trace)-\(producer)-0\(sampled ? 1 : 0)"
    try await bed.emit(
      raw: Array(document.utf8), key: "s1", headers: [KafkaHeader("traceparent", parent)])
  }

  @Test func spansOfALargeFanOutFormOneTree() async throws {
    let bed = try await WorkerBed()
    let collector = TestCollector()
    let audience = SyntheticAudience(
      followers: 10_000, seed: 7, topic: WorkerBed.app, deadTokenPrefix: "fa4efa4e0410")
    try await bed.seed(audience, streamer: "s1")
    let worker = try await bed.startWorker(Self.traces(await collector.start()))
    try await Self.emit(bed, "e1", sampled: true)
    try await Self.emit(bed, "e2", sampled: false)
    let status = try await bed.finished("e1")
    _ = try await bed.finished("e2")
    #expect(await worker.stop())

    let spans = collector.spans.withLock { $0 }
    #expect(spans.allSatisfy { $0.trace == Self.trace })
    let root = try #require(spans.first { $0.name == "fan_out notify-followers" })
    #expect(root.parent == Self.producer)
    let others = spans.filter { $0.id != root.id }
    #expect(others.count { $0.name.hasPrefix("plan ") } == 1)
    #expect(others.count { $0.name.hasPrefix("first_push ") } == 1)
    let segments = others.filter { $0.name.hasPrefix("segment ") }
    #expect(segments.count >= status.segments && status.segments > 1)
    let known = Set(spans.map(\.id))
    #expect(others.allSatisfy { known.contains($0.parent ?? "") })
    let counts = worker.counters.snapshot()
    #expect(counts[.spansExported] == spans.count && counts[.spansDropped] == 0)
    let lines = bed.sink.lines.filter { $0.contains("\"fan-out done\"") }
    #expect(lines.count == 2 && lines.allSatisfy { $0.contains(Self.trace) })
  }

  @Test(arguments: [429, 500, nil])
  func aCollectorThatTakesNothingCostsSpansAndNoPush(_ status: Int?) async throws {
    let bed = try await WorkerBed()
    let collector = TestCollector()
    let tokens = (0..<50).map { paddedHex($0) }
    try await bed.follow("s1", tokens: tokens)
    let endpoint =
      if let status { try await collector.start(status: status) } else {
        "http://127.0.0.1:1/v1/traces"
      }
    let worker = try await bed.startWorker(Self.traces(endpoint, share: 1))
    try await bed.emit("e1")
    let found = try await bed.finished("e1")
    #expect(found.isBalanced && found.accepted == tokens.count)
    #expect(await worker.stop())
    let counts = worker.counters.snapshot()
    #expect(counts[.spansExported] == 0 && counts[.spansDropped] == 4)
    #expect(status == nil || collector.requests.withLock { $0 } > 0)
  }
}
