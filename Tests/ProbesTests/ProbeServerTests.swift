import Fixtures
import HTTPServer
import Telemetry
import Testing

@testable import Probes

@Suite struct ProbeServerTests {
  private func run(
    health: Health = Health(),
    ticks: @escaping @Sendable () async -> Void = {},
    _ body: ((String) throws -> Answer) async throws -> Void
  ) async throws {
    let server = ProbeServer(
      options: HTTPServerOptions(wallClock: { 0 }), lifeLimit: .milliseconds(50),
      health: { await health.parts },
      ticks: ticks,
      metrics: {
        var text = PrometheusText()
        text.append(MetricFamily("fanfare_ready", .gauge, "Whether it is"), 1)
        return text
      })
    let port = try await server.start()
    do {
      try await body { try Self.get($0, port: port) }
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  fileprivate static func get(_ target: String, port: Int) throws -> Answer {
    let client = try RawClient(port: port)
    let (method, target) =
      target.hasPrefix("/") ? ("GET", target) : ("POST", String(target.dropFirst(5)))
    client.send("\(method) \(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    let answer = try #require(client.readToEnd())
    let status = try #require(Int(answer.split(separator: " ")[1]))
    let head = try #require(answer.firstRange(of: "\r\n\r\n"))
    return Answer(status: status, body: String(answer[head.upperBound...]))
  }

  @Test func readinessFollowsItsParts() async throws {
    let health = Health()
    try await run(health: health) { get in
      #expect(
        try get("/readyz")
          == Answer(status: 503, body: "[-] partitions: not yet\n[-] redis: not yet\nnot ready\n"))
      #expect(try get("/startupz").status == 503)
      await health.say("redis", trouble: nil)
      #expect(
        try get("/readyz")
          == Answer(status: 503, body: "[-] partitions: not yet\n[+] redis: ok\nnot ready\n"))
      await health.say("partitions", trouble: nil)
      #expect(try get("/readyz") == Answer(status: 200, body: "ok\n"))
      #expect(
        try get("/readyz?verbose")
          == Answer(status: 200, body: "[+] partitions: ok\n[+] redis: ok\nready\n"))
      #expect(try get("/startupz") == Answer(status: 200, body: "ok\n"))
      await health.say("drain", trouble: "the worker stops")
      let answer = try get("/readyz?verbose")
      #expect(answer.status == 503 && answer.body.contains("[-] drain: the worker stops\n"))
      #expect(try get("/startupz").status == 200, "it has started, whatever comes then")
      await health.say("drain", trouble: nil)
      #expect(try get("/readyz").status == 200)
    }
  }

  /// The limit is short so that a stuck thread is told soon. How long a busy machine takes to run a
  /// thread that is not stuck is no matter: it is alive in the end.
  @Test func lifeIsThatTheThreadsDoSomething() async throws {
    let gate = Gate()
    try await run(ticks: { await gate.pass() }) { get in
      while try get("/livez") != Answer(status: 200, body: "ok\n") {}
      await gate.close()
      let stuck = try get("/livez")
      #expect(stuck.status == 503 && stuck.body.contains("a thread does nothing"))
      await gate.untilOneIsStuck()
      #expect(try get("/livez").status == 503)
      #expect(try get("/metrics").status == 200)
      await gate.open()
      while try get("/livez").status != 200 {}
      #expect(await gate.stuckTogether == 1, "each probe would wait for a stuck thread")
    }
  }

  /// What only some requests need: whoever can do without it says so, and a start does not wait.
  @Test func aPartThatIsNotVitalCanBeLeftOut() async throws {
    let health = Health()
    await health.say("partitions", trouble: nil)
    await health.say("redis", trouble: nil)
    await health.say("kafka", trouble: "no broker", isVital: false)
    try await run(health: health) { get in
      #expect(try get("/startupz") == Answer(status: 200, body: "ok\n"))
      let whole = try get("/readyz")
      #expect(whole.status == 503 && whole.body.contains("[-] kafka: no broker\n"))
      #expect(try get("/readyz?exclude=kafka") == Answer(status: 200, body: "ok\n"))
      #expect(
        try get("/readyz?exclude=kafka&exclude=redis&verbose")
          == Answer(status: 200, body: "[+] partitions: ok\nready\n"))
      let mistyped = try get("/readyz?exclude=kakfa")
      #expect(mistyped.status == 400)
      #expect(mistyped.body.contains("no part kakfa; there are partitions, redis, kafka"))
      await health.say("redis", trouble: "away")
      #expect(try get("/readyz?exclude=kafka").status == 503)
      #expect(try get("/startupz").status == 200, "it has started, whatever comes then")
    }
    let later = Health()
    await later.say("kafka", trouble: nil, isVital: false)
    try await run(health: later) { get in
      let early = try get("/startupz")
      #expect(early.status == 503, "Redis has not answered yet")
    }
  }

  @Test func metricsAreAsPrometheusWantsThem() async throws {
    try await run { get in
      let answer = try get("/metrics")
      #expect(answer.status == 200 && answer.body.hasSuffix("\nfanfare_ready 1\n"))
    }
  }

  @Test func nothingElseIsThere() async throws {
    try await run { get in
      let home = try get("/")
      #expect(home.status == 404 && home.body.contains("/readyz"))
      #expect(try get("/readyz/").status == 404)
      #expect(try get("POST /readyz").status == 405)
    }
  }
}

private struct Answer: Equatable {
  let status: Int
  let body: String
}

actor Health {
  private(set) var parts = [
    HealthPart("partitions", trouble: "not yet"), HealthPart("redis", trouble: "not yet"),
  ]

  func say(_ name: String, trouble: String?, isVital: Bool = true) {
    let index = parts.firstIndex { $0.name == name } ?? parts.count
    parts.replaceSubrange(
      index..<min(index + 1, parts.count),
      with: [HealthPart(name, trouble: trouble, isVital: isVital)])
  }
}

/// What a thread goes through when it does something. Closed, nobody gets through.
actor Gate {
  private var isOpen = true
  private var stuck: [CheckedContinuation<Void, Never>] = []
  private var onStuck: CheckedContinuation<Void, Never>?
  /// The most that waited at a time.
  private(set) var stuckTogether = 0

  func close() { isOpen = false }

  func open() {
    isOpen = true
    for waiter in stuck { waiter.resume() }
    stuck = []
  }

  func pass() async {
    guard !isOpen else { return }
    await withCheckedContinuation {
      stuck.append($0)
      stuckTogether = max(stuckTogether, stuck.count)
      onStuck?.resume()
      onStuck = nil
    }
  }

  func untilOneIsStuck() async {
    guard stuck.isEmpty else { return }
    await withCheckedContinuation { onStuck = $0 }
  }
}
