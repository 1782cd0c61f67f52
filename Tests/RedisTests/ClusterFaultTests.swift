import Fixtures
import ServerProcesses
import Testing
import Threads

@testable import Redis

/// What became of a loop of INCR.
private struct Count: Sendable {
  /// Answered, and on a replica at the time.
  var safe = 0
  /// Answered: a master that dies may take it along.
  var answered = 0
  /// Perhaps done.
  var unknown = 0
}

extension Lane {
  /// INCR of twenty keys, one after the other, until `isOver`; no error but one that may pass.
  fileprivate func increment(
    waitingForReplicas wait: Bool, turns: ThreadLock<Int> = ThreadLock(0),
    until isOver: ThreadLock<Bool>
  ) async -> [String: Count] {
    var counts: [String: Count] = [:]
    var turn = 0
    while !isOver.withLock({ $0 }) {
      turn += 1
      turns.withLock { $0 = turn }
      let key = "k\(turn % 20)"
      let pipeline = RedisPipeline(["INCR", key])
      if wait { pipeline.append("WAIT", "1", "1000") }
      do throws(RedisError) {
        let replies = try await client.execute(pipeline)
        if let error = replies.firstError {
          #expect(error.disposition == .wait, "\(error)")
        } else if wait, replies[1].integer == 0 {
          counts[key, default: Count()].answered += 1
        } else {
          counts[key, default: Count()].safe += 1
        }
      } catch {
        #expect(error.isTransient, "\(error)")
        if error.isOutcomeUnknown { counts[key, default: Count()].unknown += 1 }
      }
    }
    return counts
  }

  /// The reply to a command, asked for again while the cluster is not ready.
  fileprivate func served(_ arguments: String...) async throws -> String {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      let reply = try await client.execute(RedisPipeline(arguments))[0]
      guard let error = reply.error, error.disposition == .wait, ContinuousClock.now < deadline
      else { return shown(reply) }
      await loop.wait(.milliseconds(5))
    }
  }

  fileprivate func expectKept(_ counts: [String: Count]) async throws {
    for (key, count) in counts {
      let value = Int(try await call("GET", key)) ?? 0
      #expect(value >= count.safe && value <= count.safe + count.answered + count.unknown)
    }
  }
}

@Suite struct ClusterFaultTests {
  @Test func aMasterDiesWhileItIsWrittenTo() async throws {
    let cluster = try RedisClusterProcess()
    let script = RedisScript("return redis.call('INCR', KEYS[1])")
    try await withLane(clusterOptions(cluster)) { lane async throws in
      let key = try #require((0..<100).first { RedisSlot("s\($0)").number < 5_000 })
      #expect(try await lane.evaluate(script, keys: ["s\(key)"]) == "1")
      let isOver = ThreadLock(false)
      async let loop = lane.increment(waitingForReplicas: true, until: isOver)
      try cluster.wait("every key to be there") {
        try cluster.masters.reduce(0) { try $0 + (Int($1.cli("DBSIZE")) ?? 0) } == 21
      }
      try cluster.failOver(0)
      // The new master has never heard of the script, and is found without being told.
      #expect(try await lane.evaluate(script, keys: ["s\(key)"]).isEmpty == false)
      isOver.withLock { $0 = true }
      let counts = await loop
      #expect(counts.count == 20)
      try await lane.expectKept(counts)
      // The dead one is forgotten, and nothing is in the way any more.
      #expect(await lane.until { $0.isConnected })
    }
    #expect(try cluster.replicas[0].cli("INFO", "commandstats").contains("cmdstat_eval:"))
  }

  /// A master that steps down in order sends away what it did not do: nothing is in doubt.
  @Test func aMasterStepsDownWhileItIsWrittenTo() async throws {
    let cluster = try RedisClusterProcess()
    try await withLane(clusterOptions(cluster)) { lane async throws in
      #expect(try await lane.call("PING") == "PONG")
      let (turns, isOver) = (ThreadLock(0), ThreadLock(false))
      async let loop = lane.increment(waitingForReplicas: false, turns: turns, until: isOver)
      #expect(await lane.until { _ in turns.withLock { $0 } > 40 })
      try cluster.replicas[1].cli("CLUSTER", "FAILOVER")
      try cluster.wait("the replica to be promoted") {
        try cluster.replicas[1].cli("ROLE").hasPrefix("master")
          && cluster.masters[1].cli("ROLE").hasPrefix("slave")
      }
      let before = turns.withLock { $0 }
      #expect(await lane.until { _ in turns.withLock { $0 } > before + 40 })
      isOver.withLock { $0 = true }
      let counts = await loop
      try await lane.expectKept(counts)
      #expect(counts.values.reduce(0) { $0 + $1.unknown } == 0)
      #expect(await lane.until { $0.isConnected })
    }
  }

  /// Every command is done once, whichever node it meets first.
  @Test func slotsMoveWhileTheyAreWrittenTo() async throws {
    let cluster = try RedisClusterProcess(hasReplicas: false)
    let keys = (0..<20).map { "k\($0)" }
    try await withLane(clusterOptions(cluster)) { lane async throws in
      let (done, isOver) = (ThreadLock(0), ThreadLock(false))
      async let turns = lane.run { lane in
        var turns = 0
        while !isOver.withLock({ $0 }) {
          turns += 1
          let counts = try await lane.all(keys.map { ["INCR", $0] })
          #expect(counts == [String](repeating: "\(turns)", count: 20))
          done.withLock { $0 += 1 }
        }
        return turns
      }
      // In each state of each slot there is a turn at least.
      func turn() async {
        let before = done.withLock { $0 }
        #expect(await lane.until { _ in done.withLock { $0 } > before + 1 })
      }
      for key in keys.prefix(5) {
        let slot = RedisSlot(key).number
        let old = try #require(try cluster.master(of: slot))
        let new = try #require(cluster.masters.last { $0 !== old })
        for (from, to) in [(old, new), (new, old), (old, new)] {
          try cluster.beginMove(slot, from: from, to: to)
          await turn()
          try cluster.move(keys: [key], from: from, to: to)
          await turn()
          try cluster.endMove(slot, from: from, to: to)
          await turn()
        }
      }
      isOver.withLock { $0 = true }
      let last = try await turns
      let values = try await lane.all(keys.map { ["GET", $0] })
      #expect(values == [String](repeating: "\(last)", count: 20))
    }
    let errors = try cluster.masters.map { try $0.cli("INFO", "errorstats") }.joined()
    #expect(errors.contains("errorstat_MOVED") && errors.contains("errorstat_ASK"))
  }

  @Test func aNodeThatIsAwayKeepsItsOwnKeysOnly() async throws {
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: ["--cluster-require-full-coverage", "no"])
    let keys = (0..<20).map { "k\($0)" }
    try await withLane(clusterOptions(cluster)) { lane async throws in
      for key in keys { #expect(try await lane.call("SET", key, "1") == "OK") }
      cluster.masters[0].kill()
      let away = try #require(keys.first { RedisSlot($0).number < 5_461 })
      #expect(await lane.until { $0.lastFailure != nil })
      for key in keys where RedisSlot(key).number > 5_461 {
        #expect(try await lane.call("GET", key) == "1")
      }
      let error = await lane.error("GET", away, timeout: .milliseconds(300))
      #expect(error?.code == .unavailable && error?.isOutcomeUnknown == false)
      let failure = await lane.lastFailure
      #expect(failure?.description.contains("refused") == true)
      #expect(await !lane.isConnected)
      // A pipeline of both: what has been done is not denied.
      let other = try #require(keys.first { RedisSlot($0).number > 5_461 })
      let pipeline = [["INCR", other], ["INCR", away]]
      let partly = await lane.failure(pipeline, timeout: .milliseconds(300))
      #expect(partly?.isOutcomeUnknown == true)
      try cluster.masters[0].start()
      // It takes a moment until the cluster has it back.
      #expect(try await lane.served("SET", away, "2") == "OK")
      #expect(try await lane.call("GET", other) == "2")
      #expect(await lane.until { $0.isConnected })
    }
  }

  @Test func whatCannotBeUsedIsSaid() async throws {
    let plain = try RedisServerProcess()
    var options = options(1)
    options.clusterNodes = [.init(host: "127.0.0.1", port: plain.port)]
    try await withLane(options) { lane async throws in
      let refused = await lane.errorWhile(.refused, "GET", "k", timeout: .milliseconds(50))
      #expect(refused?.code == .refused)
      #expect(refused?.cause?.contains("no node of a Redis Cluster") == true)
      #expect(await !lane.isConnected)
    }
    let nobody = try DeadPort.number
    options.clusterNodes = [.init(host: "127.0.0.1", port: nobody)]
    try await withLane(options) { lane async throws in
      let error = await lane.errorWhile(.unavailable, "GET", "k", timeout: .milliseconds(50))
      #expect(error?.code == .unavailable && error?.isOutcomeUnknown == false)
      // What waits when the client goes is told so.
      async let waiting = lane.error("GET", "k")
      await lane.close()
      #expect(await waiting?.code == .closed)
      #expect(await lane.error("GET", "k")?.code == .closed)
    }
    let cluster = try RedisClusterProcess(masters: 1, hasReplicas: false)
    try cluster.masters[0].cli(
      "ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-cluster")
    var application = clusterOptions(cluster)
    application.username = "app"
    application.password = "secret"
    try await withLane(application) { lane async throws in
      let error = await lane.errorWhile(.authentication, "GET", "k", timeout: .milliseconds(50))
      #expect(error?.cause?.contains("CLUSTER SLOTS") == true)
      try cluster.masters[0].cli("ACL", "SETUSER", "app", "+cluster|slots")
      #expect(try await lane.call("SET", "k", "v") == "OK")
    }
  }

  /// A seed that is away, then a replica, then a cluster that is not there yet.
  @Test func anySeedWillDo() async throws {
    let cluster = try RedisClusterProcess(masters: 1)
    let seeds = [try DeadPort.number, cluster.replicas[0].port]
    try await withLane(clusterOptions(cluster, seeds: seeds[...])) { lane async throws in
      #expect(try await lane.call("SET", "k", "v") == "OK")
      #expect(try await lane.call("GET", "k") == "v")
    }
    #expect(try cluster.masters[0].cli("GET", "k") == "v")
  }

  /// An empty host means the one that answered: a node that does not know its own address. Who
  /// steps down in order says MOVED as a replica: that was not done, and is no broken connection.
  @Test(arguments: [false, true])
  func movedToAPortOfTheSameHost(asReplica: Bool) async throws {
    let real = try RedisServerProcess()
    try real.cli("SET", "foo", "there")
    let slots = "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$0\r\n\r\n:{port}\r\n$2\r\nid\r\n"
    let master: FakeServer.Answer = "+PONG\r\n*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
    let replica = "*3\r\n$5\r\nslave\r\n$1\r\nh\r\n:1\r\n"
    let asked: [FakeServer.Answer] = [ready, .init(slots)]
    let moved: [FakeServer.Answer] = [
      asReplica ? master : ready,
      .init("-MOVED 12182 :\(real.port)\r\n" + (asReplica ? replica : "")),
    ]
    try await withFake([asked, moved, asked]) { options, _, server async throws in
      var options = options
      options.clusterNodes = [options.endpoint]
      try await withLane(options) { lane async throws in
        #expect(try await lane.call("GET", "foo") == "there")
      }
    }
  }
}
