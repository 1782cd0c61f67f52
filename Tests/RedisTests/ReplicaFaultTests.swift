import Fixtures
import ServerProcesses
import Testing
import Threads

@testable import Redis

/// A replica that is away, stands still or falls behind costs no answer, and nothing old is read.
@Suite struct ReplicaFaultTests {
  /// The cable between the two is pulled, which neither notices for a minute: what the master was
  /// last told is all that says so.
  @Test func nothingOlderThanTheLimitIsRead() async throws {
    let bed = try ReplicaBed(replicas: 0)
    let proxy = try await TestProxy(to: bed.master.port)
    let replica = try ReplicaBed.replica(of: proxy.port)
    var options = bed.options
    let limit: Duration = .seconds(3)
    options.replicaLagLimit = limit
    try await withLane(options) { lane async throws in
      try await lane.copy("old", to: "k")
      #expect(try await lane.read("GET", "k") == "old")
      await proxy.setSilent()
      #expect(try await lane.call("SET", "k", "new") == "OK")
      let written = ContinuousClock.now
      var lastOld = written
      while true {
        let asked = ContinuousClock.now
        guard try await lane.read("GET", "k") == "old" else { break }
        lastOld = asked
        await lane.pause()
      }
      #expect(lastOld - written <= limit)
      #expect(try replica.cli("ROLE").contains("connected"), "the link itself gave it away")
      for _ in 0..<100 { #expect(try await lane.read("GET", "k") == "new") }
      #expect(
        await lane.until {
          $0.log.contains {
            $0.contains("are read from the master") && $0.hasSuffix("behind, over 3s")
          }
        })
    }
    #expect(try replica.cli("GET", "k") == "old")
    await proxy.close()
  }

  /// Redis' own word that the link is down: it is left at once.
  @Test func aReplicaWithoutItsMasterIsLeftAtOnce() async throws {
    let bed = try ReplicaBed()
    try await withLane(bed.options) { lane async throws in
      try await lane.copy("old", to: "k")
      let replica = bed.replicas[0]
      try replica.cutOff()
      #expect(await lane.untilLinked(replica, false))
      try bed.master.cli("SET", "k", "new")
      #expect(try await lane.read("GET", "k") == "new")
      #expect(try replica.cli("GET", "k") == "old")
    }
  }

  /// SIGSTOP: the kernel takes what we send, and nobody answers.
  @Test func aReplicaThatStandsStillHoldsNobodyUp() async throws {
    let bed = try ReplicaBed()
    var options = bed.options
    options.replicaLagLimit = .seconds(3)
    try await withLane(options) { lane async throws in
      try await lane.copy("v", to: "k")
      bed.replicas[0].freeze()
      // All at once: they wait for the same connection.
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<50 { group.addTask { try await lane.read("GET", "k", timeout: .seconds(20)) } }
        for try await value in group { #expect(value == "v") }
      }
      #expect(await lane.replicas?.fellBack ?? 0 >= 50)
      #expect(await lane.until { $0.replicas?.isComplete == false })
      bed.replicas[0].resume()
      #expect(await lane.reads(from: 1))
      let before = await lane.replicas?.answered ?? 0
      #expect(try await lane.read("GET", "k") == "v")
      #expect(await lane.replicas?.answered == before + 1)
    }
  }

  /// And comes back, with nothing at first.
  @Test func aReplicaIsKilledWhileItIsReadFrom() async throws {
    let bed = try ReplicaBed(replicas: 2)
    try await withLane(bed.options) { lane async throws in
      #expect(try await lane.call("SET", "k", "v") == "OK")
      #expect(try await lane.call("WAIT", "2", "60000") == "2")
      #expect(await lane.reads(from: 2))
      let isOver = ThreadLock(false)
      async let wrong = lane.countWrong("k", "v", until: isOver)
      bed.replicas[0].kill()
      #expect(await lane.reads(from: 1))
      try bed.replicas[0].start()
      #expect(await lane.reads(from: 2))
      isOver.withLock { $0 = true }
      let (asked, others) = try await wrong
      #expect(asked > 0 && others == [])
    }
  }

  /// The sentinel's word moves master and replica alike.
  @Test func replicasOfTheNextMasterAreReadFrom() async throws {
    let bed = try ReplicaBed(replicas: 2)
    let sentinel = try RedisSentinelProcess(watching: bed.master, as: "main")
    var options = bed.options
    options.sentinel = RedisSentinel(
      nodes: [.init(host: "127.0.0.1", port: sentinel.port)], master: "main")
    options.replicaLagLimit = .seconds(5)
    try await withLane(options) { lane async throws in
      #expect(try await lane.call("SET", "k", "1") == "OK")
      #expect(try await lane.call("WAIT", "2", "60000") == "2")
      #expect(await lane.reads(from: 2))
      try sentinel.waitForReplica(of: "main")
      bed.master.kill()
      #expect(await lane.until { !$0.isConnected })
      #expect(try await lane.call("INCR", "k", timeout: .seconds(60)) == "2")
      // Until the limit is over, what the others had is fresh enough.
      #expect(try await lane.reads("k", otherThan: "1"))
      #expect(await lane.reads(from: 1))
      let before = await lane.replicas?.answered ?? 0
      #expect(try await lane.read("GET", "k") == "2")
      #expect(await lane.replicas?.answered == before + 1)
    }
  }
}

extension Lane {
  func pause() async { await loop.wait(.milliseconds(1)) }

  /// Asks Redis itself.
  func untilLinked(_ replica: RedisServerProcess, _ isLinked: Bool) async -> Bool {
    await until { _ in
      (try? replica.cli("INFO", "replication").contains("master_link_status:up")) == isLinked
    }
  }

  /// How often a key was read, and what it was said to hold that it never held.
  func countWrong(
    _ key: String, _ value: String, until isOver: ThreadLock<Bool>
  ) async throws -> (asked: Int, others: [String]) {
    var asked = 0
    var others: [String] = []
    while !isOver.withLock({ $0 }) {
      asked += 1
      let answer = try await read("GET", key)
      if answer != value { others.append(answer) }
      await pause()
    }
    return (asked, others)
  }
}
