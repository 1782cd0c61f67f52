import EventLoop
import Fixtures
import Foundation
import Processes
import ServerProcesses
import TLS
import Testing

@testable import Redis

@Suite struct ClientTests {
  @Test func repliesComeInTheOrderOfTheCommands() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port)) { lane async throws in
      try await lane.run { lane async throws in
        let pipeline = RedisPipeline(
          ["SET", "k", "1"], ["INCR", "k"], ["LPUSH", "k", "x"], ["GET", "none"],
          ["HSET", "h", "a", "1", "b", "2"], ["HGETALL", "h"], ["NO-SUCH"])
        let replies = try await lane.client.execute(pipeline)
        #expect(replies.count == 7 && replies[0].text == "OK" && replies[1].integer == 2)
        #expect(replies[2].error?.kind == .wrongType && replies[3].isNull)
        #expect(replies[5].dictionary == ["a": "1", "b": "2"])
        #expect(replies[6].error?.kind == .unknownCommand)
        #expect(try await lane.client.execute(RedisPipeline()).count == 0)
      }
      #expect(await lane.isConnected)
      #expect(await lane.log.isEmpty)
    }
  }

  @Test func tasksOfOneLoopShareTheConnection() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port)) { lane async throws in
      let isRight = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<200 {
          group.addTask { try await lane.call("ECHO", "\(number)") == "\(number)" }
        }
        return try await group.reduce(true) { $0 && $1 }
      }
      #expect(isRight)
    }
    let statistics = try server.cli("INFO", "stats")
    #expect(statistics.contains("total_connections_received:2\r\n"))
  }

  @Test func tenThousandCommandsAndLargeReplies() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port)) { lane async throws in
      try await lane.run { lane async throws in
        let pipeline = RedisPipeline()
        let set = RedisCommandTemplate(
          "SET", key: (Array("{u:".utf8), Array("}".utf8)), after: ["v"])
        for user in 0..<10_000 {
          Array("\(user)".utf8).withUnsafeBytes { pipeline.append(set, $0) }
        }
        let replies = try await lane.client.execute(pipeline)
        #expect((0..<10_000).allSatisfy { replies[$0].text == "OK" })
        pipeline.removeAll()
        pipeline.append("SETRANGE", "big", "19999999", "x")
        pipeline.append("GET", "big")
        pipeline.append("KEYS", "{u:*")
        let large = try await lane.client.execute(pipeline)
        #expect(large[1].bytes?.count == 20_000_000 && large[1].bytes?.last == 0x78)
        #expect(large[2].count == 10_000)
      }
    }
  }

  @Test func aReplyOverTheLimitEndsTheConnectionAndNothingElse() async throws {
    let server = try RedisServerProcess()
    try server.cli("SETRANGE", "big", "199999", "x")
    var options = options(server.port)
    options.maximumReplyBytes = 100_000
    try await withLane(options) { lane async throws in
      let error = await lane.error("GET", "big")
      #expect(error?.code == .replyTooLarge && error?.isOutcomeUnknown == true)
      #expect(error?.message.contains("more than 100000 bytes") == true)
      #expect(try await lane.call("STRLEN", "big") == "200000")
    }
  }

  @Test func closeEndsEverything() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port)) { lane async throws in
      #expect(try await lane.call("PING") == "PONG")
      server.freeze()
      async let sent = lane.code("PING")
      async let closing = { () -> Bool in
        let isSent = await lane.until { !$0.client.hasNothingSent }
        await lane.close()
        return isSent
      }()
      #expect(await closing)
      #expect(await sent == .closed)
      #expect(await lane.code("PING") == .closed)
      server.resume()
    }
  }

  @Test func tooManyPipelinesAreRefused() async throws {
    var options = options(try DeadPort.number)
    options.maximumPipelines = 1
    options.commandTimeout = .milliseconds(50)
    try await withLane(options) { lane async throws in
      async let first = lane.code("PING")
      async let second = lane.code("PING")
      let codes = await [first, second]
      #expect(Set(codes) == [.unavailable, .invalidUse], "\(codes)")
    }
  }

  @Test func aCommandOfNothingIsThrown() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port)) { lane async throws in
      let code = try await lane.run { lane async throws in
        do throws(RedisError) {
          _ = try await lane.client.execute(RedisPipeline(["PING"], []))
          return RedisError.Code?.none
        } catch {
          return error.code
        }
      }
      #expect(code == .invalidUse)
      #expect(try await lane.call("PING") == "PONG")
    }
  }
}

@Suite struct ClientAccessTests {
  @Test func userPasswordDatabaseAndName() async throws {
    let server = try RedisServerProcess()
    try server.cli("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all")
    try server.cli("ACL", "SETUSER", "default", "off")
    var options = options(server.port)
    options.username = "app"
    options.password = "secret"
    options.database = 3
    options.clientName = "lane-0"
    try await withLane(options) { lane async throws in
      #expect(try await lane.call("SET", "k", "v") == "OK")
      #expect(try await lane.call("ACL", "WHOAMI") == "app")
      #expect(try await lane.call("CLIENT", "GETNAME") == "lane-0")
      #expect(try await lane.call("CLIENT", "INFO").contains(" db=3 "))
    }
  }

  @Test func aPasswordAlone() async throws {
    let server = try RedisServerProcess(options: ["--requirepass", "secret"])
    var options = options(server.port)
    options.password = "secret"
    try await withLane(options) { lane async throws in
      #expect(try await lane.call("PING") == "PONG")
    }
  }

  @Test(arguments: [nil, "canary"])
  func aMissingOrWrongPasswordIsReported(password: String?) async throws {
    let server = try RedisServerProcess(options: ["--requirepass", "secret"])
    var options = options(server.port)
    options.password = password
    try await withLane(options) { lane async throws in
      let error = await lane.errorWhile(
        .authentication, "GET", "k", timeout: .milliseconds(200))
      #expect(error?.code == .authentication)
      let words = password == nil ? "wants a password" : "WRONGPASS"
      #expect(error?.cause?.contains(words) == true)
      #expect(await lane.log.contains { $0.contains(words) })
      #expect(await lane.log.allSatisfy { !$0.contains("canary") })
      // Mended by the operator: it goes on by itself.
      try server.cli(
        ["--pass", "secret", "--no-auth-warning", "CONFIG", "SET", "requirepass", password ?? ""])
      #expect(try await lane.call("PING") == "PONG")
      #expect(await lane.log.last?.hasSuffix("connected again") == true)
    }
  }

  @Test func aDatabaseThatIsNotThereIsReported() async throws {
    let server = try RedisServerProcess()
    var options = options(server.port)
    options.database = 99
    try await withLane(options) { lane async throws in
      let error = await lane.errorWhile(.refused, "GET", "k", timeout: .milliseconds(100))
      #expect(error?.code == .refused && error?.cause?.contains("database number") == true)
    }
  }

  @Test func commandsThatTheUserMayNotUseAreReplies() async throws {
    let server = try RedisServerProcess()
    try server.cli("ACL", "SETUSER", "reader", "on", ">secret", "%R~ff:*", "+hgetall", "+auth")
    var options = options(server.port)
    options.username = "reader"
    options.password = "secret"
    try await withLane(options) { lane async throws in
      #expect(try await lane.call("HGETALL", "ff:{e:1}") == "[]")
      #expect(try await lane.call("HGETALL", "ffd:{u:1}:profile").hasPrefix("NOPERM"))
    }
  }

  @Test func encrypted() async throws {
    let directory = try ScratchDirectory()
    let files = try ThrowAwayAuthority(hosts: ["127.0.0.1"]).write(to: directory.path)
    let server = try RedisServerProcess(
      tls: .init(authority: files.authority, certificate: files.certificate, key: files.key))
    var options = options(server.port)
    options.tls = try TLSClientContext(caFile: files.authority, alpn: [])
    try await withLane(options) { lane async throws in
      let value = String(repeating: "x", count: 1_000_000)
      #expect(try await lane.call("SET", "k", value) == "OK")
      #expect(try await lane.call("GET", "k") == value)
    }
    let other = try ScratchDirectory()
    let stranger = try ThrowAwayAuthority(hosts: ["127.0.0.1"]).write(to: other.path)
    options.tls = try TLSClientContext(caFile: stranger.authority, alpn: [])
    try await withLane(options) { lane async throws in
      // On a busy machine the first handshakes may take longer than one asks.
      var error = await lane.error("PING", timeout: .milliseconds(200))
      for _ in 0..<50 where error?.code == .unavailable && error?.cause?.contains("TLS") != true {
        error = await lane.error("PING", timeout: .milliseconds(200))
      }
      #expect(error?.code == .unavailable)
      #expect(error?.cause?.contains("TLS") == true, "\(String(describing: error))")
    }
  }

  /// Redis asks for one unless `tls-auth-clients` says otherwise.
  @Test func aCertificateIsShownToRedis() async throws {
    let directory = try ScratchDirectory()
    let files = try ThrowAwayAuthority(hosts: ["127.0.0.1"]).write(to: directory.path)
    let server = try RedisServerProcess(
      tls: .init(authority: files.authority, certificate: files.certificate, key: files.key),
      options: ["--tls-auth-clients", "yes"])
    var options = options(server.port)
    options.tls = try TLSClientContext(caFile: files.authority, alpn: [])
    try await withLane(options) { lane async throws in
      #expect(await lane.until { $0.lastFailure != nil })
    }
    let bytes = try [files.certificate, files.key].map {
      try String(contentsOfFile: $0, encoding: .utf8)
    }
    options.tls = try TLSClientContext(
      caFile: files.authority, alpn: [],
      certificate: ClientCertificate(
        file: Array(bytes.joined(separator: "\n").utf8), passphrase: nil))
    try await withLane(options) { lane async throws in
      #expect(try await lane.call("PING") == "PONG")
    }
  }

  /// The bulk's connection waits for an answer that only a command behind it brings.
  @Test func nobodyWaitsForWhatIsReadInBulk() async throws {
    let server = try RedisServerProcess()
    try await withLane(options(server.port), separatesBulk: true) { lane async throws in
      async let bulk = lane.run { lane async throws in
        let replies = try await lane.client.execute(
          RedisPipeline(["BLPOP", "k", "0"]), timeout: .seconds(60), isBulk: true)
        return replies[0][1].text
      }
      let isWaiting = await lane.until { _ in
        (try? server.cli("INFO", "clients"))?.contains("blocked_clients:1") == true
      }
      #expect(isWaiting)
      #expect(try await lane.call("RPUSH", "k", "v") == "1")
      #expect(try await bulk == "v")
    }
  }
}
