import Glibc
import JSON
import Kafka
import LocalStack
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

  @Test func checkFindsEverythingInOrder() throws {
    let directory = try ScratchDirectory()
    let redis = try RedisServerProcess()
    let broker = try Command.startServer(["broker"], in: directory)
    let simulator = try Command.startServer(
      ["simulator", "--directory", directory.file("apns")], in: directory)
    defer { for child in [broker.process, simulator.process] { child.stop() } }
    _ = try directory.write("payload: { aps: { alert: hello } }\n", to: "go-live.yaml")
    let servers = try #require(broker.ready["bootstrap_servers"]?.string)
    let port = try #require(simulator.ready["port"]?.integer)
    func check(team: String) throws -> Command.Outcome {
      try check(
        "apns.key_id=SIMULATED1", "apns.team_id=\(team)",
        "apns.key_file=\(directory.file("apns/AuthKey_SIMULATED1.p8"))")
    }
    func check(_ credentials: String...) throws -> Command.Outcome {
      let settings = [
        "redis.port=\(redis.port)", "kafka.bootstrap_servers=\(servers)",
        "apns.production.host=127.0.0.1", "apns.production.port=\(port)",
        "apns.sandbox.host=localhost", "apns.sandbox.port=\(port)",
        "apns.ca_file=\(directory.file("apns/ca.pem"))", "templates.directory=\(directory.path)",
      ]
      let process = try Command.start(
        ["check"] + (settings + credentials).flatMap { ["--set", $0] })
      let text = process.readToEnd()
      return Command.Outcome(code: process.waitForExit(), text: text)
    }
    let good = try check(team: "SIMULATED2")
    #expect(good.code == 0, "\(good.text)")
    #expect(good.text.contains("takes the provider token"))
    #expect(good.text.contains("notify-followers: 4 partitions"))
    let refused = try check(team: "SIMULATED3")
    #expect(refused.code == 78 && refused.text.contains("InvalidProviderToken"))
    let certificate = try check("apns.certificate_file=\(directory.file("apns/client.pem"))")
    #expect(certificate.code == 0, "\(certificate.text)")
    #expect(certificate.text.contains("takes the certificate"))
    #expect(certificate.text.contains("certificate for com.example.live, until 20"))
    // The simulator's last a month.
    #expect(
      certificate.text.contains("it expires in 29 days") || certificate.text.contains("in 30"))
    let misplaced = try check(
      "apns.certificate_file=\(directory.file("apns/client-sandbox.pem"))")
    #expect(misplaced.code == 78 && misplaced.text.contains("BadCertificateEnvironment"))
    let two = try check(
      "apns.key_file=\(directory.file("apns/AuthKey_SIMULATED1.p8"))", "apns.team_id=SIMULATED2",
      "apns.apps.com.example.other.certificate_file=\(directory.file("apns/client.pem"))")
    #expect(two.code == 0, "\(two.text)")
    #expect(two.text.contains("(other apps): takes the provider token"))
    #expect(two.text.contains("(com.example.other): takes the certificate"))
    #expect(two.text.contains("it does not name com.example.other"))
    redis.stop()
    let down = try check(team: "SIMULATED2")
    #expect(down.code == 69 && down.text.contains("Redis"), "\(down.text)")
  }

  private func check(_ settings: String...) throws -> [String] {
    let directory = try ScratchDirectory()
    let process = try Command.start(
      // Kafka is not connected to, because this is wrong.
      ["check"] + settings.flatMap { ["--set", $0] } + [
        "--set", "kafka.bootstrap_servers=nowhere",
        "--set", "templates.directory=\(directory.path)", "--timeout", "60s",
      ])
    let text = process.readToEnd()
    process.waitForExit()
    return text.split(separator: "\n").map(String.init)
  }

  @Test func checkLooksAtEachNodeOfACluster() throws {
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: ["--cluster-require-full-coverage", "no"])
    let seed = cluster.addresses[1]
    let good = try check("redis.cluster=\(seed)")
    #expect(good.contains { $0.contains("\(seed)/0: all 16384 slots are served") }, "\(good)")
    for (address, slots) in zip(cluster.addresses, [5461, 5461, 5462]) {
      #expect(good.contains { $0.contains("\(address) (\(slots) slots): Redis 7") }, "\(good)")
    }
    #expect(good.contains { $0.contains("takes writes") }, "\(good)")
    #expect(!good.contains { $0.contains("replicas") }, "\(good)")
    let alone = try check("redis.cluster=\(seed)", "redis.wait_for_replicas=1")
    #expect(alone.count { $0.contains("has 0 of the 1 replicas") } == 3, "\(alone)")
    #expect(alone.count { $0.contains("start its replicas") } == 3, "\(alone)")
    try cluster.wait("every node to know that nobody has three slots") {
      // Who hears from another that still has one takes it up again.
      for node in cluster.nodes {
        for slot in ["7", "8", "16383"] { try node.cli("CLUSTER", "DELSLOTS", slot) }
      }
      return try cluster.nodes.allSatisfy {
        try $0.cli("CLUSTER", "INFO").contains("cluster_slots_assigned:16381")
      }
    }
    let less = try check("redis.cluster=\(seed)")
    #expect(less.contains { $0.contains("no node serves the slots 7-8, 16383") }, "\(less)")
    try cluster.masters[0].cli("ACL", "SETUSER", "default", "-cluster|info")
    let silenced = try check("redis.cluster=\(seed)")
    let isKnown = !silenced.contains { $0.contains("is not known") && $0.contains("NOPERM") }
    #expect(!isKnown, "\(silenced)")
    let single = try check("redis.port=\(cluster.masters[0].port)")
    #expect(single.contains { $0.contains("this is a node of a Redis Cluster") }, "\(single)")
  }

  /// Each slot has a master still: it is dead.
  @Test(arguments: ["yes", "no"])
  func checkSaysWhichShardOfAClusterIsDown(needsAll: String) throws {
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: ["--cluster-require-full-coverage", needsAll])
    let (dead, others) = (cluster.masters[2], cluster.masters.prefix(2))
    dead.kill()
    try cluster.wait("the others to notice") {
      try others.allSatisfy {
        try $0.cli("CLUSTER", "NODES").split(separator: "\n").contains {
          $0.contains("master,fail ")
        }
      }
    }
    let lines = try check("redis.cluster=\(cluster.addresses[0])", "redis.command_timeout=1s")
    let gone = lines.first { $0.contains("nobody serves the slots 10922-16383") }
    #expect(gone?.contains("their master 127.0.0.1:\(dead.port) is gone") == true, "\(lines)")
    for master in others { #expect(gone?.contains(":\(master.port)") == true, "\(lines)") }
    #expect(!lines.contains { $0.contains("slots are served") }, "\(lines)")
    let isDown = lines.contains { $0.contains("cluster_state:fail") }
    #expect(isDown == (needsAll == "yes"), "\(lines)")
  }

  @Test func checkNamesReplicasAndThoseThatAreNotReadFrom() throws {
    let master = try RedisServerProcess()
    let port = "redis.port=\(master.port)"
    let name = "Redis 127.0.0.1:\(master.port)"
    let (isOn, soon) = ("redis.read_from_replicas=true", "redis.connect_timeout=2s")
    let alone = try check(port, isOn, soon)
    #expect(alone.contains { $0.contains("\(name) has no replica within 5s") }, "\(alone)")
    let replica = try RedisServerProcess(
      options: ["--replicaof", "127.0.0.1 \(master.port)", "--repl-diskless-sync-delay", "0"])
    #expect(try master.cli("WAIT", "1", "60000") == "1")
    let found = "127.0.0.1:\(replica.port), a replica of \(name)"
    let good = try check(port, isOn, "redis.connect_timeout=60s")
    #expect(good.contains { $0.contains("\(found): at most ") }, "\(good)")
    #expect(!good.contains { $0.contains("has no replica") }, "\(good)")
    try replica.cli("ACL", "SETUSER", "default", "-info")
    let refused = try check(port, isOn, soon)
    #expect(refused.contains { $0.contains("\(found), is not read from: ") }, "\(refused)")
    #expect(refused.contains { $0.contains("\(name) has no replica within 5s") }, "\(refused)")
    #expect(try !check(port).contains { $0.contains("replica") })
  }

  /// A GOAWAY says that the request was not looked at: nobody waits for more.
  @Test func checkSaysThatAServerWentAway() throws {
    let directory = try ScratchDirectory()
    let script = try directory.write(
      #"{"goaway_after": 1, "goaway_behind": 1, "latency_ms": 1000}"#, to: "script.json")
    let simulator = try Command.startServer(
      ["simulator", "--directory", directory.file("apns"), "--script", script], in: directory)
    defer { simulator.process.stop() }
    let port = try #require(simulator.ready["port"]?.integer)
    let settings = [
      "apns.production.host=127.0.0.1", "apns.production.port=\(port)",
      "apns.sandbox.host=127.0.0.1", "apns.sandbox.port=\(port)",
      "apns.ca_file=\(directory.file("apns/ca.pem"))", "apns.key_id=SIMULATED1",
      "apns.key_file=\(directory.file("apns/AuthKey_SIMULATED1.p8"))", "apns.team_id=SIMULATED2",
      "redis.port=1", "kafka.bootstrap_servers=127.0.0.1:1",
    ]
    let process = try Command.start(
      ["check", "--timeout", "5s"] + settings.flatMap { ["--set", $0] })
    let text = process.readToEnd()
    #expect(process.waitForExit() != 0)
    #expect(text.contains("went away without an answer: Shutdown"), "\(text)")
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
      "fcm:production:com.example.live:ab12", "apns:production:com.example.other:ab12")
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
      "devices":[{"token":"AB12","topic":"com.example.live","bound_at":1000},\
      {"token":"cd34","environment":"sandbox","topic":"com.example.live","bound_at":2000}]}
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
    #expect(try redis.cli("HGET", bound, "apns:production:com.example.live:ab12") == "1000")
    #expect(try redis.cli("HGET", bound, "apns:sandbox:com.example.live:cd34") == "2000")
  }
}
