import EventLoop
import Fixtures
import ServerProcesses
import Testing

@testable import Redis

@Suite struct ClientFaultTests {
  @Test func withoutAServerItIsUnavailableInTime() async throws {
    try await withLane(options(try DeadPort.number)) { lane async throws in
      let error = await lane.errorWhile(.unavailable, "PING", timeout: .milliseconds(50))
      #expect(error?.code == .unavailable && error?.isOutcomeUnknown == false)
      #expect(error?.cause?.contains("refused") == true)
      #expect(await lane.log.contains { $0.contains("trying again") })
    }
  }

  @Test func waitsForAServerThatComesLater() async throws {
    let server = try RedisServerProcess()
    server.kill()
    try await withLane(options(server.port)) { lane async throws in
      async let reply = lane.call("PING")
      #expect(await lane.until { $0.lastFailure != nil })
      try server.start()
      #expect(try await reply == "PONG")
    }
  }

  @Test func whatFailedUnsentIsNotSentLater() async throws {
    let server = try RedisServerProcess()
    server.kill()
    try await withLane(options(server.port)) { lane async throws in
      #expect(await lane.code("INCR", "k", timeout: .milliseconds(20)) == .unavailable)
      try server.start()
      #expect(try await lane.call("GET", "k") == "(nil)")
    }
  }

  @Test func killAndRestartInTheMiddle() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port)) { lane async throws in
      #expect(try await lane.call("PING") == "PONG")
      // Sent and unanswered: lost with the connection.
      server.freeze()
      async let lost = lane.error("INCR", "k")
      #expect(await lane.until { !$0.client.hasNothingSent })
      server.kill()
      let error = await lost
      #expect(error?.code == .connectionLost && error?.isOutcomeUnknown == true)
      // Not sent: waits for the server to come back.
      async let waiting = lane.call("INCR", "k")
      #expect(await lane.until { !$0.isConnected && $0.client.hasNothingSent })
      try server.start()
      #expect(try await waiting == "1")
      #expect(await lane.log.last?.hasSuffix("connected again") == true)
      // However often it was tried meanwhile.
      #expect(await lane.until { $0.client.brokenConnections == 1 })
    }
  }

  @Test func manyKillsLoseNoAnswer() async throws {
    let server = try RedisServerProcess(isDurable: true)
    try await withLane(options(server.port)) { lane async throws in
      async let counts = {
        var answered = 0
        var unknown = 0
        while answered < 2_000 {
          switch await lane.code("INCR", "k") {
          case nil: answered += 1
          case .connectionLost: unknown += 1
          case let code:
            Issue.record("unexpected \(String(describing: code))")
            return (answered, unknown)
          }
        }
        return (answered, unknown)
      }()
      for _ in 0..<3 {
        server.kill()
        try server.start()
        #expect(await lane.until { $0.isConnected })
      }
      let (answered, unknown) = await counts
      let value = try #require(Int(try await lane.call("GET", "k")))
      #expect(value >= answered && value <= answered + unknown)
    }
  }

  @Test func aServerThatFallsSilentIsGivenUp() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port)) { lane async throws in
      #expect(try await lane.call("PING") == "PONG")
      server.freeze()
      async let short = lane.error("PING", timeout: .milliseconds(50))
      async let long = lane.error("PING", timeout: .seconds(60))
      let codes = await [short?.code, long?.code]
      #expect(codes == [.timeout, .connectionLost])
      #expect(await !lane.isConnected)
      server.resume()
      #expect(try await lane.call("PING") == "PONG")
    }
  }

  @Test func aServerThatAcceptsAndNeverAnswers() async throws {
    try await withFake([[]]) { options, loop, server in
      var options = options
      options.connectTimeout = .milliseconds(30)
      return try await withLane(options) { lane async throws in
        let error = await lane.errorWhile(.unavailable, "PING", timeout: .milliseconds(200))
        #expect(error?.code == .unavailable)
        #expect(error?.cause?.contains("does not answer the handshake") == true)
      }
    }
  }

  @Test func waitsWhileItLoads() async throws {
    let loading: FakeServer.Answer = "-LOADING Redis is loading\r\n*1\r\n$6\r\nmaster\r\n"
    try await withFake([[loading], [loading], [ready, "+yes\r\n"]]) {
      options, _, _ async throws in
      try await withLane(options) { lane async throws in
        #expect(try await lane.call("GET", "k") == "yes")
        #expect(await lane.log.count { $0.contains("is loading") } == 2)
      }
    }
  }

  @Test func loadingForTooLongSaysSo() async throws {
    let loading: FakeServer.Answer = "-LOADING wait\r\n*1\r\n$6\r\nmaster\r\n"
    try await withFake([[loading]]) { options, _, _ async throws in
      try await withLane(options) { lane async throws in
        let error = await lane.errorWhile(.loading, "PING", timeout: .milliseconds(60))
        #expect(error?.code == .loading)
      }
    }
  }

  @Test(arguments: [
    "HTTP/1.1 400 Bad Request\r\n\r\n", "+PONG\r\n+PONG\r\n+PONG\r\n", "*3\r\n*3\r\n*x\r\n",
    "\u{0}",
    "+PONG\r\n*1\r\n$8\r\nsentinel\r\n", "+PONG\r\n+master\r\n",
  ])
  func aServerThatIsNoRedis(answer: String) async throws {
    try await withFake([[.init(answer)]]) { options, _, _ async throws in
      try await withLane(options) { lane async throws in
        let error = await lane.error("PING", timeout: .milliseconds(60))
        let codes: [RedisError.Code] = [.unavailable, .connectionLost, .protocolError, .refused]
        #expect(error.map { codes.contains($0.code) } == true, "\(answer)")
        let words = ["Redis answers", "ROLE answers"]
        let isSaid = await lane.until { lane in
          lane.log.contains { line in words.contains { line.contains($0) } }
        }
        #expect(isSaid, "\(answer)")
      }
    }
  }

  @Test func whatWasAnsweredBeforeGarbageCounts() async throws {
    let answers: [FakeServer.Answer] = [ready, .init("+one\r\n?\r\n", upon: "second")]
    try await withFake([answers, [ready, "+again\r\n"]]) { options, _, _ async throws in
      try await withLane(options) { lane async throws in
        #expect(await lane.until { $0.isConnected })
        async let first = lane.call("GET", "first")
        #expect(await lane.until { !$0.client.hasNothingSent })
        async let second = lane.code("GET", "second")
        #expect(try await first == "one")
        #expect(await second == .protocolError)
        #expect(try await lane.call("GET", "c") == "again")
      }
    }
  }

  @Test func aServerThatClosesAtOnceIsNotStormed() async throws {
    try await withFake([["close"]]) { options, loop, server in
      var options = options
      options.reconnectMinimum = .milliseconds(20)
      options.reconnectMaximum = .milliseconds(40)
      return try await withLane(options) { lane async throws in
        let start = ContinuousClock.now
        #expect(await lane.code("PING", timeout: .milliseconds(200)) == .unavailable)
        #expect(await lane.until { $0.log.count { $0.contains("trying again") } >= 2 })
        let accepted = await LoopActor(loop).run { _ in server.value.accepted }
        // The waits are at least half of 20, 40, 40, … ms, however slow this machine is.
        let most = Int((ContinuousClock.now - start) / .milliseconds(10)) + 2
        #expect(accepted >= 2 && accepted <= most)
      }
    }
  }
}

@Suite struct ScriptTests {
  let script = RedisScript("return {KEYS[1], ARGV[1], redis.call('INCR', KEYS[1])}")

  @Test func runsAndSurvivesAFlush() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port)) { lane async throws in
      #expect(try await lane.evaluate(script, keys: ["k"], arguments: ["a"]) == "[k a 1]")
      #expect(try await lane.evaluate(script, keys: ["k"], arguments: ["b"]) == "[k b 2]")
      try server.cli("SCRIPT", "FLUSH")
      #expect(try await lane.evaluate(script, keys: ["k"], arguments: ["c"]) == "[k c 3]")
      #expect(try await lane.evaluate(script, keys: ["k"], arguments: ["d"]) == "[k d 4]")
      let calls = try server.cli("INFO", "commandstats")
      #expect(calls.contains("cmdstat_evalsha:calls=4,"))
      #expect(calls.contains("cmdstat_eval:calls=1,"))
    }
  }

  /// Whatever the values are: empty, or what is the name of another.
  @Test(arguments: [["x", "", "y"], [""], []])
  func argumentsAreReadByTheirNames(_ list: [String]) async throws {
    let server = try RedisServerProcess()
    let files = [
      "-- Adds up.\nlocal function all() return #list end\n",
      "\nreturn {args.a, args.b, args.c or 'none', args.d, all(), unpack(list)}\n  -- end",
    ]
    let script = RedisScript(files.map { Array($0.utf8) })
    #expect(!script.source.contains("--"))
    let call = ScriptCall(
      keys: [], arguments: ["a": "b", "b": "", "c": nil] + ["d": "4"], list: list)
    try await withLane(options(server.port)) { lane async throws in
      let reply = try await lane.run { lane in
        lane.shown(try await lane.client.evaluate(script, call)[0])
      }
      #expect(
        reply == "[" + (["b", "", "none", "4", "\(list.count)"] + list).joined(separator: " ") + "]"
      )
    }
  }

  @Test func aScriptThatFailsIsAReply() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port)) { lane async throws in
      let wrong = RedisScript("return redis.call('INCR', KEYS[1], 'x', 'y')")
      #expect(try await lane.evaluate(wrong, keys: ["k"]).hasPrefix("ERR "))
      #expect(try await lane.evaluate(RedisScript("no lua")).hasPrefix("ERR "))
      try server.cli("SET", "text", "abc")
      #expect(try await lane.evaluate(script, keys: ["text"]).hasPrefix("ERR "))
    }
  }

  @Test func withoutScriptLoadTheSourceIsSent() async throws {
    let server = try RedisServerProcess()
    try server.cli("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-script")
    var options = options(server.port)
    options.username = "app"
    options.password = "secret"
    try await withLane(options) { lane async throws in
      #expect(try await lane.evaluate(script, keys: ["k"], arguments: ["a"]) == "[k a 1]")
    }
  }
}

/// A fake server's home: it is looked at on its loop only.
struct OnLoop: @unchecked Sendable { let value: FakeServer }

func withFake(
  _ scripts: [[FakeServer.Answer]],
  _ body: @Sendable (RedisOptions, EventLoop, OnLoop) async throws -> Void
) async throws {
  let loop = EventLoop(name: "fake-redis")
  defer { loop.stop() }
  let server = try await LoopActor(loop).run { _ in
    OnLoop(value: try FakeServer(scripts, loop: loop))
  }
  let port = await LoopActor(loop).run { _ in server.value.port }
  let result = await Result { try await body(options(port), loop, server) }
  await LoopActor(loop).run { _ in server.value.close() }
  try result.get()
}

extension Result where Failure == any Error {
  init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
