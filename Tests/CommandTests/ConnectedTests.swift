import Glibc
import JSON
import Kafka
import Processes
import ServerProcesses
import Testing

/// Verbs among real processes: the simulator, the embedded broker, a redis-server.
@Suite struct ConnectedTests {
  @Test func serversSayWhenTheyAreReadyAndEndInOrder() throws {
    let directory = try ScratchDirectory()
    let simulator = try Command.startServer(
      ["simulator", "--directory", directory.file("apns")], in: directory)
    for name in ["host", "port", "ca_file", "key_file", "certificate_file", "key_id", "team_id"] {
      #expect(simulator.ready[name] != nil, "\(name)")
    }
    let broker = try Command.startServer(["broker", "--topics", "a:1,b:2"], in: directory)
    #expect(broker.ready["bootstrap_servers"]?.string?.hasPrefix("127.0.0.1:") == true)
    #expect(simulator.process.stop(SIGTERM) == 0)
    #expect(broker.process.stop(SIGINT) == 0)
    let said = try ChildProcess.run(["cat", directory.file("simulator.out")])
    #expect(said.contains("0 requests for 0 tokens"))
  }

  @Test func theSimulatorOfFCMSaysWhatAWorkerNeeds() throws {
    let directory = try ScratchDirectory()
    let simulator = try Command.startServer(
      ["simulator", "--platform", "fcm", "--directory", directory.file("fcm")], in: directory)
    #expect(simulator.ready["host"]?.string == "127.0.0.1")
    for name in ["ca_file", "service_account_file"] {
      let file = try #require(simulator.ready[name]?.string)
      #expect(ScratchDirectory.exists(file), "\(name)")
    }
    let token = try #require(simulator.ready["control_token"]?.string)
    #expect(ScratchDirectory.read(directory.file("fcm/control.token")) == token)
    let port = try #require(simulator.ready["port"]?.integer)
    let summary = try ChildProcess.run([
      "curl", "-s", "--cacert", directory.file("fcm/ca.pem"), "-H", "simulator-token: \(token)",
      "https://127.0.0.1:\(port)/simulator/summary",
    ])
    #expect(try JSONValue.parse(Array(summary.utf8)).object?["requests"]?.integer == 0)
    #expect(simulator.process.stop(SIGTERM) == 0)
    let said = try ChildProcess.run(["cat", directory.file("simulator.out")])
    #expect(said.contains("0 requests for 0 tokens") && said.contains("0 access tokens"))
  }

  @Test func theSimulatorOfBrowsersSaysWhatAWorkerNeeds() throws {
    let directory = try ScratchDirectory()
    let simulator = try Command.startServer(
      ["simulator", "--platform", "webpush", "--directory", directory.file("webpush")],
      in: directory)
    #expect(simulator.ready["host"]?.string == "127.0.0.1")
    #expect(simulator.ready["subject"]?.string == "mailto:push@example.com")
    for (name, file) in [("ca_file", "ca.pem"), ("vapid_key_file", "vapid.pem")] {
      #expect(simulator.ready[name]?.string == directory.file("webpush/\(file)"))
      #expect(ScratchDirectory.exists(directory.file("webpush/\(file)")), "\(name)")
    }
    let token = try #require(simulator.ready["control_token"]?.string)
    let port = try #require(simulator.ready["port"]?.integer)
    // HTTP/1.1 too, and each service at its name.
    for (version, host) in [("--http2", "web.push.apple.com"), ("--http1.1", "push.test")] {
      let summary = try ChildProcess.run([
        "curl", "-s", version, "--cacert", directory.file("webpush/ca.pem"), "--connect-to",
        "::127.0.0.1:\(port)", "-H", "simulator-token: \(token)",
        "https://\(host)/simulator/summary",
      ])
      #expect(try JSONValue.parse(Array(summary.utf8)).object?["requests"]?.integer == 0)
    }
    #expect(simulator.process.stop(SIGTERM) == 0)
    let said = try ChildProcess.run(["cat", directory.file("simulator.out")])
    #expect(said.contains("0 requests for 0 subscriptions"))
  }

  @Test func emitPrintsWhereTheEventWent() throws {
    let directory = try ScratchDirectory()
    let broker = try Command.startServer(
      ["broker", "--topics", "notify-followers:1"], in: directory)
    defer { broker.process.stop() }
    let servers = try #require(broker.ready["bootstrap_servers"]?.string)
    for offset in 0..<2 {
      let outcome = try Command.run(
        "emit", "--streamer", "s1", "--app", "com.example.live", "--id", "e\(offset)", "--json",
        "--set", "kafka.bootstrap_servers=\(servers)")
      #expect(outcome.code == 0, "\(outcome.text)")
      let object = try JSONValue.parse(Array(outcome.text.utf8)).object
      #expect(object?["id"]?.string == "e\(offset)")
      #expect(object?["offset"]?.integer == Int64(offset))
    }
    broker.process.stop()
    let down = try Command.run(
      "emit", "--streamer", "s1", "--app", "com.example.live", "--timeout", "500ms", "--set",
      "kafka.bootstrap_servers=\(servers)")
    #expect(down.code == 69 && down.text.contains("no broker answers"), "\(down.text)")
  }

  @Test func aBrokerIsFoundAtThePortThatItIsGiven() throws {
    let directory = try ScratchDirectory()
    let port = try LocalPort.findFree()
    let broker = try Command.startServer(
      ["broker", "--port", "\(port)", "--topics", "notify-followers:1"], in: directory)
    defer { broker.process.stop() }
    #expect(broker.ready["bootstrap_servers"]?.string == "127.0.0.1:\(port)")
    let server = "kafka.bootstrap_servers=127.0.0.1:\(port)"
    for offset in 0..<2 {
      let outcome = try Command.run(
        "emit", "--streamer", "s1", "--app", "com.example.live", "--json", "--set", server)
      #expect(outcome.code == 0, "\(outcome.text)")
      #expect(outcome.text.contains("\"offset\":\(offset)"), "\(outcome.text)")
    }
    let second = try Command.run("broker", "--port", "\(port)")
    #expect(second.code == 1 && second.text.contains("cannot listen"), "\(second.text)")
  }

  /// As where the port is all that is forwarded: from another machine, or into a container.
  @Test func clientsOfABrokerStayAtThePortThatItIsGiven() async throws {
    let directory = try ScratchDirectory()
    let port = try LocalPort.findFree()
    let broker = try Command.startServer(
      ["broker", "--port", "\(port)", "--topics", "t:4"], in: directory)
    defer { broker.process.stop() }
    var options = KafkaOptions(bootstrapServers: "127.0.0.1:\(port)")
    options.group = "g"
    options.sessionTimeout = .seconds(6)
    options.fetchWaitMaximum = .milliseconds(10)
    let known = try KafkaAdmin(options) { _ in }.metadata(topics: ["t"], timeout: .seconds(20))
    #expect(known.brokers == ["127.0.0.1:\(port)"] && known.partitions == ["t": 4])

    let consumers = try (0..<2).map { _ in
      let consumer = try KafkaConsumer(options, topics: ["t"]) { _ in }
      try consumer.subscribe()
      return consumer
    }
    let producers = try (0..<2).map { _ in try KafkaProducer(options) { _ in } }
    // More than a socket takes at once, so that frames come in pieces.
    let padding = [UInt8](repeating: 0x78, count: 20_000)
    for number in 0..<100 {
      _ = try await producers[number % 2].send(
        topic: "t", partition: Int32(number % 4), key: nil,
        value: Array("\(number) ".utf8) + padding)
    }
    var read: [String] = []
    let deadline = ContinuousClock.now + .seconds(40)
    while Set(read).count < 100, ContinuousClock.now < deadline {
      for consumer in consumers {
        guard case .message(let message)? = consumer.poll(timeout: .milliseconds(5)) else {
          continue
        }
        let value = message.value ?? []
        #expect(value.count > padding.count)
        read.append(String(decoding: value.prefix { $0 != 0x20 }, as: UTF8.self))
      }
    }
    #expect(Set(read) == Set((0..<100).map { "\($0)" }))
    for consumer in consumers { #expect(consumer.close(timeout: .seconds(5))) }
    for producer in producers { producer.close(timeout: .seconds(1)) }
  }

  @Test func renderPassesOverWhatTheWorkerPassesOver() throws {
    let directory = try ScratchDirectory()
    let redis = try RedisServerProcess()
    let file = try directory.write("payload: { aps: { alert: hello } }\n", to: "hello.yaml")
    try redis.cli(
      "SADD", "ffd:{u:u1}:bindings", "apns:production:com.example.live:ab12",
      "apns:prod:com.example.live:ab12", "apns:sandbox:com.example.live:xyz",
      "gcm:production:com.example.live:ab12", "apns:production:com.example.other:ab12")
    let outcome = try Command.run(
      "render", file, "--user", "u1", "--json", "--set", "redis.port=\(redis.port)")
    #expect(outcome.code == 0, "\(outcome.text)")
    let shown = try #require(try JSONValue.parse(Array(outcome.text.utf8)).object)
    #expect(shown["devices"]?.object?.members.map(\.name) == ["production"])
    #expect(shown["devices"]?.object?["production"] == 1)
    #expect(shown["devices_of_other_topics"] == 1)
    #expect(shown["devices_skipped"] == 3)
  }

  @Test func importGoesOnOverWrongRowsAndStopsWhenStrict() throws {
    let directory = try ScratchDirectory()
    let redis = try RedisServerProcess()
    let file = try directory.write(
      """
      {"user":"u1","follows":["s1"],"profile":{"name":"Mia","badge":3,"muted":true},\
      "devices":[{"token":"AB12","topic":"com.example.live","bound_at":1767225600000},\
      {"token":"cd34","environment":"sandbox","topic":"com.example.live","bound_at":1767225600001}]}
      {"user":"u2","folows":["s1"]}
      {"user":"u3","follows":["s1"]}
      """, to: "rows.ndjson")
    let setting = "redis.port=\(redis.port)"
    let strict = try Command.run("audience", "import", file, "--strict", "--set", setting)
    #expect(strict.code == 1)
    #expect(try redis.cli("HGET", "ffd:{f:s1}", "followers") == "1")
    let outcome = try Command.run("audience", "import", file, "--set", setting)
    #expect(outcome.code == 1)
    #expect(outcome.text.contains("rows.ndjson:2: a row has no member \"folows\""))
    #expect(try redis.cli("HGET", "ffd:{f:s1}", "followers") == "2")
    #expect(try redis.cli("HGET", "ffd:{u:u1}:profile", "muted") == "1")
    let bound = "ffd:{u:u1}:bound"
    #expect(
      try redis.cli("HGET", bound, "apns:production:com.example.live:ab12") == "1767225600000")
    #expect(try redis.cli("HGET", bound, "apns:sandbox:com.example.live:cd34") == "1767225600001")
  }
}
