import Glibc
import Kafka
import Processes
import Redis
import ServerProcesses
import TLS
import Testing

/// `fanfare check` on servers that are there, and on some that are not.
@Suite struct CheckVerbTests {
  private func check(_ settings: String...) throws -> [String] { try check(settings) }

  private func check(_ settings: [String]) throws -> [String] {
    let directory = try ScratchDirectory()
    // A check without a Redis of its own need not wait for one.
    let noRedis =
      settings.contains { $0.hasPrefix("redis.") } ? [] : ["--set", "redis.command_timeout=100ms"]
    let process = try Command.start(
      // Kafka is not connected to, because this is wrong.
      ["check"] + settings.flatMap { ["--set", $0] } + noRedis + [
        "--set", "kafka.bootstrap_servers=nowhere",
        "--set", "templates.directory=\(directory.path)", "--timeout", "60s",
      ])
    let text = process.readToEnd()
    process.waitForExit()
    return text.split(separator: "\n").map(String.init)
  }

  /// What `fanfare api` would stop at.
  @Test func checkLooksAtTheAPIsFiles() throws {
    let directory = try ScratchDirectory()
    let digest = String(repeating: "0", count: 64)
    let keys = try directory.write("one read-only sha256:\(digest)\n", to: "keys")
    let authority = try ThrowAwayAuthority(hosts: ["127.0.0.1"])
    let files = try authority.write(to: directory.path)
    let pair = [
      "api.tls.certificate_file=\(files.certificate)", "api.tls.key_file=\(files.key)",
    ]
    let good = try check("api.keys_file=\(keys)", pair[0], pair[1])
    #expect(good.contains { $0.contains("1 key in api.keys_file") }, "\(good)")
    #expect(good.contains { $0.contains("its certificate and key belong together") }, "\(good)")
    let later = try ScratchDirectory()
    for (days, words) in [(5, "its certificate expires in"), (-1, "its certificate has expired")] {
      let short = try ThrowAwayAuthority(hosts: ["127.0.0.1"], days: days).write(to: later.path)
      let found = try check(
        "api.tls.certificate_file=\(short.certificate)", "api.tls.key_file=\(short.key)")
      #expect(found.contains { $0.contains(words) }, "\(found)")
    }
    let other = try ScratchDirectory()
    let stranger = try ThrowAwayAuthority(hosts: ["127.0.0.1"]).write(to: other.path)
    for (settings, words) in [
      (["api.keys_file=\(directory.file("none"))"], "none"),
      ([pair[0], "api.tls.key_file=\(stranger.key)"], "belongs to none of the certificates"),
      ([pair[0]], "neither alone"),
    ] {
      let found = try check(settings)
      #expect(found.contains { $0.contains(words) }, "\(found)")
    }
  }

  @Test(.enabled(if: RealKafka.home != nil, "FANFARE_KAFKA_HOME names no Apache Kafka"))
  func checkLooksAtWhatTopicsForget() throws {
    let kafka = try RealKafka()
    let name = "check-" + String(UInt64.random(in: .min ... .max), radix: 16)
    let policies = [
      "": ["cleanup.policy": "compact"], ".segments": ["retention.ms": "60000"],
      ".segments.bulk": ["retention.ms": "86400000"], ".stragglers": ["retention.ms": "-1"],
      ".dead-letters": ["retention.ms": "60000"],
    ]
    let options = KafkaOptions(bootstrapServers: kafka.bootstrapServers)
    try kafka.createTopics(
      policies.map {
        KafkaTopic(name + $0.key, partitions: 8, replicas: 1, configuration: $0.value)
      }, as: options)
    let topics = [
      "events=", "segments=.segments", "bulk_segments=.segments.bulk", "stragglers=.stragglers",
      "dead_letters=.dead-letters",
    ].map { "kafka.topics.\($0.replacing("=", with: "=" + name))" }
    let directory = try ScratchDirectory()
    let settings =
      topics + [
        "kafka.bootstrap_servers=\(kafka.bootstrapServers)", "redis.port=70000",
        "templates.directory=\(directory.path)",
      ]
    let process = try Command.start(
      ["check", "--timeout", "20s"] + settings.flatMap { ["--set", $0] })
    let lines = process.readToEnd().split(separator: "\n").map(String.init)
    process.waitForExit()
    func said(_ status: String, _ words: String) -> Bool {
      lines.contains { $0.hasPrefix("  " + status) && $0.contains(words) }
    }
    #expect(said("problem", "\(name) is compacted"), "\(lines)")
    #expect(said("problem", "\(name).segments forgets records after 1m"), "\(lines)")
    #expect(said("warning", "\(name).segments.bulk forgets records after 1d"), "\(lines)")
    #expect(!lines.contains { $0.contains("\(name).stragglers forgets") }, "\(lines)")
    #expect(!lines.contains { $0.contains("\(name).dead-letters forgets") }, "\(lines)")
  }

  /// Allowed, and people would be woken; a zone of one's own is not warned of.
  @Test func checkWarnsOfQuietHoursByGreenwich() throws {
    let unset = try check("rules.quiet_hours=true")
    #expect(unset.contains { $0.contains("warning") && $0.contains("by UTC") }, "\(unset)")
    for zone in ["Asia/Tokyo", "UTC", "asia/tokyo", "UTC+03:00"] {
      let set = try check("rules.quiet_hours=true", "rules.default_time_zone=\(zone)")
      #expect(!set.contains { $0.contains("by UTC") }, "\(set)")
      #expect(set.contains { $0.contains("in doubt it is \(zone)'s time") }, "\(set)")
    }
    let wrong = try check("rules.quiet_hours=true", "rules.default_time_zone=Asia/Tokio")
    #expect(wrong.contains { $0.contains("is no time zone of this system") }, "\(wrong)")
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
    #expect(two.code == 78, "\(two.text)")
    #expect(two.text.contains("(other apps): takes the provider token"))
    #expect(two.text.contains("(com.example.other): takes the certificate"))
    #expect(two.text.contains("it does not name com.example.other"))
    redis.stop()
    let down = try check(team: "SIMULATED2")
    #expect(down.code == 69 && down.text.contains("Redis"), "\(down.text)")
  }

  @Test func checkLooksAtEachNodeOfACluster() throws {
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: ["--cluster-require-full-coverage", "no"])
    let seed = cluster.addresses[1]
    let good = try check("redis.cluster=\(seed)")
    #expect(good.contains { $0.contains("\(seed)/0: all 16384 slots are served") }, "\(good)")
    let product = RedisInformation(try cluster.masters[0].cli("INFO", "server")).product
    for (address, slots) in zip(cluster.addresses, [5461, 5461, 5462]) {
      let line = "\(address) (\(slots) slots): \(product), answers"
      #expect(good.contains { $0.contains(line) }, "\(good)")
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

  @Test func checkSaysWhatOurUserMayNotDo() throws {
    let redis = try RedisServerProcess()
    let port = "redis.port=\(redis.port)"
    #expect(try check(port).contains { $0.contains("our user may do all that a worker does") })
    try redis.cli("ACL", "SETUSER", "default", "-smismember", "-hkeys", "-script|load")
    let lines = try check(port)
    #expect(
      lines.contains { $0.contains("our user may not: SCRIPT, SMISMEMBER, HKEYS") }, "\(lines)")
    #expect(!lines.contains { $0.contains("our user may do all") })
    #expect(try redis.cli("EXISTS", "ffd:{check}") == "0")
  }

  @Test func checkNamesCommandsThatRedisDoesNotHave() throws {
    let redis = try RedisServerProcess(
      options: ["--rename-command", "HDEL", "", "--rename-command", "ROLE", "WHAT"])
    let lines = try check("redis.port=\(redis.port)")
    #expect(
      lines.contains { $0.contains("our user may not: HDEL (renamed or disabled in Redis)") },
      "\(lines)")
    #expect(lines.contains { $0.contains("does not say its ROLE") }, "\(lines)")
  }

  @Test func checkWarnsWhereRoleIsForbidden() throws {
    let redis = try RedisServerProcess()
    let port = "redis.port=\(redis.port)"
    #expect(try !check(port).contains { $0.contains("ROLE") })
    try redis.cli("ACL", "SETUSER", "default", "-role")
    let lines = try check(port)
    #expect(lines.contains { $0.contains("does not say its ROLE") }, "\(lines)")
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
}
