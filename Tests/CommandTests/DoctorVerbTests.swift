import Glibc
import JSON
import Kafka
import Processes
import Redis
import ServerProcesses
import Testing

/// `fanfare doctor` on servers that are well, and on some with one thing wrong each.
@Suite struct DoctorVerbTests {
  private let directory: ScratchDirectory

  init() throws { directory = try ScratchDirectory() }

  private struct Item {
    let id: String
    let status: String
    let message: String
    let hint: String?
  }

  private func doctor(_ arguments: String...) throws -> (code: Int32, items: [Item]) {
    try doctor(arguments)
  }

  private func doctor(_ arguments: [String]) throws -> (code: Int32, items: [Item]) {
    let process = try Command.start(["doctor", "--json", "--timeout", "60s"] + arguments)
    let text = process.readToEnd()
    let code = process.waitForExit()
    let object = try #require(try JSONValue.parse(Array(text.utf8)).object, "\(text)")
    let items = try #require(object["checks"]?.array).compactMap(\.object).map {
      Item(
        id: $0["id"]?.string ?? "", status: $0["status"]?.string ?? "",
        message: $0["message"]?.string ?? "", hint: $0["hint"]?.string)
    }
    #expect((object["ok"]?.bool ?? false) == (code == 0), "\(text)")
    return (code, items)
  }

  private func redis(_ server: RedisServerProcess, _ more: String...) throws -> [Item] {
    try doctor(["--only", "redis", "--set", "redis.port=\(server.port)"] + more).items
  }

  // MARK: Redis

  @Test func aRedisThatKeepsAllIsWell() throws {
    let server = try RedisServerProcess(options: ["--appendonly", "yes"])
    let (code, items) = try doctor("--only", "redis", "--set", "redis.port=\(server.port)")
    #expect(items.allSatisfy { $0.status == "ok" } && code == 0, "\(items)")
    let wanted: Set = [
      "redis.version", "redis.role", "redis.rights", "redis.persistence", "redis.eviction",
      "redis.memory", "redis.latency", "redis.clock", "redis.writes",
    ]
    #expect(wanted.isSubset(of: items.map(\.id)), "\(items)")
    #expect(items.contains { $0.message.contains("answers 20 PINGs in ") })
  }

  @Test func whatARedisLacksIsSaid() throws {
    let server = try RedisServerProcess(
      options: ["--maxmemory", "1200kb", "--maxmemory-policy", "allkeys-lru"])
    let items = try redis(server)
    func item(_ id: String) throws -> Item { try #require(items.first { $0.id == id }, "\(items)") }
    #expect(try item("redis.persistence").status == "warning")
    #expect(try item("redis.persistence").hint?.contains("appendonly yes") == true)
    #expect(try item("redis.eviction").message.contains("allkeys-lru"))
    #expect(try item("redis.memory").message.contains("of 1.2 MiB of maxmemory"))
    let code = try doctor("--only", "redis", "--set", "redis.port=\(server.port)").code
    #expect(code == 1)
  }

  @Test func aDiskThatTakesNothingIsSaid() throws {
    let data = try directory.makeDirectory("gone")
    let server = try RedisServerProcess(options: ["--appendonly", "no", "--dir", data])
    rmdir(data)
    let deadline = ContinuousClock.now + .seconds(60)
    while try !server.cli("INFO", "persistence").contains("rdb_last_bgsave_status:err") {
      try #require(ContinuousClock.now < deadline, "BGSAVE does not fail")
      _ = try server.cli("BGSAVE")
      _ = poll(nil, 0, 20)
    }
    let found = try redis(server).filter { $0.status == "problem" }
    #expect(found.contains { $0.message.contains("last RDB file could not be written") })
  }

  /// Redis 7 says what a user may do without doing it; where it may not be asked, each is tried.
  @Test(arguments: [true, false]) func rightsThatAreMissingAreNamed(mayAsk: Bool) throws {
    let server = try RedisServerProcess(options: ["--appendonly", "yes"])
    try server.cli("ACL", "SETUSER", "default", "-smismember", "-hkeys", "-script|load")
    if !mayAsk { try server.cli("ACL", "SETUSER", "default", "-acl|dryrun") }
    let (code, items) = try doctor("--only", "redis", "--set", "redis.port=\(server.port)")
    let rights = try #require(items.first { $0.id == "redis.rights" })
    #expect(rights.message.contains("our user may not: SCRIPT, SMISMEMBER, HKEYS"), "\(rights)")
    #expect(code == 1)
    #expect(try server.cli("EXISTS", "ffd:{check}") == "0")
  }

  @Test func replicasAndTheirLagAreSaid() throws {
    let master = try RedisServerProcess(options: ["--appendonly", "yes"])
    let replica = try RedisServerProcess(
      options: ["--replicaof", "127.0.0.1 \(master.port)", "--repl-diskless-sync-delay", "0"])
    #expect(try master.cli("WAIT", "1", "60000") == "1")
    let followed = try #require(try redis(master).first { $0.id == "redis.replicas" })
    #expect(followed.message.contains("127.0.0.1:\(replica.port)"), "\(followed)")
    #expect(followed.status == "ok" && followed.message.contains("online"))
    let asked = try redis(replica)
    let detour = try #require(
      asked.first { $0.id == "redis.role" && $0.status == "warning" }, "\(asked)")
    #expect(detour.message.contains("leads to a replica: connected to its master"))
  }

  @Test func eachMasterOfAClusterIsExamined() throws {
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: ["--cluster-require-full-coverage", "no"])
    let settings = ["--only", "redis", "--set", "redis.cluster=\(cluster.addresses[0])"]
    let items = try doctor(settings).items
    for id in ["redis.version", "redis.role", "redis.latency", "redis.clock", "redis.memory"] {
      #expect(items.count { $0.id == id && $0.status == "ok" } == 3, "\(id): \(items)")
    }
    #expect(items.contains { $0.id == "redis.slots" && $0.status == "ok" }, "\(items)")
    try cluster.wait("every node to know that nobody has a slot") {
      for node in cluster.nodes { try node.cli("CLUSTER", "DELSLOTS", "7") }
      return try cluster.nodes.allSatisfy {
        try $0.cli("CLUSTER", "INFO").contains("cluster_slots_assigned:16383")
      }
    }
    let (code, less) = try doctor(settings)
    let slots = try #require(less.first { $0.id == "redis.slots" })
    #expect(slots.status == "problem" && slots.message.contains("slots 7"), "\(less)")
    #expect(code == 69)
  }

  @Test func aRedisThatIsDownEndsWith69() throws {
    let (code, items) = try doctor(
      "--only", "redis,host", "--set", "redis.port=1", "--set", "redis.command_timeout=100ms")
    #expect(code == 69)
    #expect(items.contains { $0.id == "redis.connection" && $0.status == "problem" })
    #expect(items.contains { $0.id == "host.open_files" })
  }

  // MARK: Kafka

  @Test func theEmbeddedBrokerIsAskedWhatItTells() throws {
    let topics = Self.topics.map { (name: $0, partitions: 4) }
    let broker = try EmbeddedBroker(topics: topics)
    let items = try doctor(
      "--only", "kafka", "--set", "kafka.bootstrap_servers=\(broker.bootstrapServers)", "--set",
      "lanes.count=5"
    ).items
    #expect(items.count { $0.id == "kafka.topics" && $0.status == "ok" } == 5, "\(items)")
    let few = items.filter { $0.id == "kafka.partitions" }
    #expect(few.count == 2 && few.allSatisfy { $0.status == "warning" }, "\(items)")
    #expect(few.allSatisfy { $0.message.contains("1 worker with 5 lanes each: 5 are wanted") })
    #expect(items.count { $0.id == "kafka.lag" && $0.message.contains(": 0 records") } == 4)
    #expect(items.contains { $0.id == "kafka.group" && $0.status == "skipped" })
  }

  private static let topics = [
    "notify-followers", "notify-followers.segments", "notify-followers.segments.bulk",
    "notify-followers.stragglers", "notify-followers.dead-letters",
  ]

  @Test(.enabled(if: RealKafka.home != nil, "FANFARE_KAFKA_HOME names no Apache Kafka"))
  func aKafkaIsAskedForItsTopicsAndTheGroup() throws {
    let kafka = try RealKafka()
    let name = "doctor-" + String(UInt64.random(in: .min ... .max), radix: 16)
    let parts = ["", ".segments", ".segments.bulk", ".stragglers", ".dead-letters"]
    try kafka.createTopics(
      parts.map {
        KafkaTopic(
          name + $0, partitions: 4, replicas: 1,
          configuration: $0 == ".dead-letters"
            ? ["max.message.bytes": "90000"] : ["retention.ms": "500000000"])
      }, as: KafkaOptions(bootstrapServers: kafka.bootstrapServers))
    let keys = ["events", "segments", "bulk_segments", "stragglers", "dead_letters"]
    let settings =
      zip(keys, parts).map { "kafka.topics.\($0)=\(name)\($1)" } + [
        "kafka.bootstrap_servers=\(kafka.bootstrapServers)", "kafka.group=\(name)",
      ]
    func ask() throws -> (Int32, [Item]) {
      try doctor(["--only", "kafka"] + settings.flatMap { ["--set", $0] })
    }
    var (code, items) = try ask()
    // A Kafka that nobody has used makes the topic of its groups for the first question about one.
    for _ in 0..<5 where !items.contains(where: { $0.id == "kafka.lag" }) {
      (code, items) = try ask()
    }
    #expect(code == 1)
    #expect(items.contains { $0.id == "kafka.brokers" && $0.status == "warning" }, "\(items)")
    #expect(items.count { $0.id == "kafka.replication" && $0.status == "ok" } == 5, "\(items)")
    let size = items.filter { $0.id == "kafka.max_message_bytes" && $0.status == "problem" }
    #expect(size.count == 1 && size.first?.message.contains(".dead-letters") == true, "\(items)")
    #expect(items.contains { $0.id == "kafka.group" && $0.message.contains("no worker runs") })
    #expect(items.count { $0.id == "kafka.lag" && $0.status == "ok" } == 4, "\(items)")
  }

  // MARK: Apple, and the verb

  @Test func aWholeDeploymentIsExamined() throws {
    let redis = try RedisServerProcess(options: ["--appendonly", "yes"])
    let simulator = try Command.startServer(
      ["simulator", "--directory", directory.file("apns")], in: directory)
    defer { simulator.process.stop() }
    let broker = try EmbeddedBroker(topics: Self.topics.map { (name: $0, partitions: 8) })
    _ = try directory.makeDirectory("templates")
    _ = try directory.write("payload: { aps: { alert: hello } }\n", to: "templates/go-live.yaml")
    let port = try #require(simulator.ready["port"]?.integer)
    let settings = [
      "redis.port=\(redis.port)", "kafka.bootstrap_servers=\(broker.bootstrapServers)",
      "apns.production.host=127.0.0.1", "apns.production.port=\(port)",
      "apns.sandbox.host=localhost", "apns.sandbox.port=\(port)", "lanes.count=1",
      "apns.ca_file=\(directory.file("apns/ca.pem"))",
      "apns.key_file=\(directory.file("apns/AuthKey_SIMULATED1.p8"))", "apns.team_id=SIMULATED2",
      "templates.directory=\(directory.file("templates"))",
    ].flatMap { ["--set", $0] }
    let (_, items) = try doctor(settings)
    #expect(!items.contains { $0.status == "problem" }, "\(items)")
    let hands = items.filter { $0.id == "tls.handshake" }
    #expect(hands.count == 2 && hands.allSatisfy { $0.message.contains(" and h2 (ALPN)") })
    #expect(items.count { $0.id == "tls.certificate" } == 2, "\(items)")
    #expect(items.contains { $0.id == "dns.names" && $0.message.contains("localhost") })
    #expect(items.count { $0.id == "apns.credentials" && $0.status == "ok" } == 2)
    // Another authority: what it signed is not trusted.
    let other = try ScratchDirectory()
    let stranger = try Command.startServer(
      ["simulator", "--directory", other.path], in: other)
    stranger.process.stop()
    let (code, wrong) = try doctor(
      ["--only", "tls"] + settings + ["--set", "apns.ca_file=\(other.file("ca.pem"))"])
    #expect(code == 1)
    let refused = wrong.filter { $0.id == "tls.handshake" && $0.status == "problem" }
    #expect(refused.count == 2, "\(wrong)")
    #expect(refused.allSatisfy { $0.message.contains("not signed by a trusted authority") })
  }

  @Test func briefShowsOnlyWhatIsWrong() throws {
    let server = try RedisServerProcess()
    let said = try Command.run(
      "doctor", "--brief", "--only", "redis", "--set", "redis.port=\(server.port)")
    #expect(said.code == 1, "\(said.text)")
    #expect(said.text.contains("has no append-only file"), "\(said.text)")
    #expect(!said.text.contains("  ok  "), "\(said.text)")
    let wrong = try Command.run("doctor", "--only", "redis,kafak")
    #expect(wrong.code == 64 && wrong.text.contains("--only takes files, host"), "\(wrong.text)")
  }
}
