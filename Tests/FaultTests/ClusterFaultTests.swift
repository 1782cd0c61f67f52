import APNsSimulator
import Devices
import Fixtures
import Processes
import Redis
import ServerProcesses
import TestBed
import Testing

/// What happens to the nodes of a Redis Cluster in the middle of a fan-out. The ledger of the
/// simulator is the judge: nobody is lost, nobody is told twice, and the counters say so.
@Suite(.serialized) struct ClusterFaultTests {
  private static let audience = SyntheticAudience(
    followers: 20_000, seed: 41, topic: WorkerBed.app, mutedShare: 0)
  /// Slow enough that there is a middle; a node that is gone is soon given up.
  private static let settings = [
    "apns.streams_per_connection=20", "redis.command_timeout=1s", "redis.reconnect_maximum=500ms",
  ]
  /// What a master has said that it did outlives it.
  private static let lasting = ["redis.wait_for_replicas=1"]

  private struct Run {
    let bed: WorkerBed
    let cluster: RedisClusterProcess
    let worker: ChildProcess

    /// In the middle of the fan-out of `e1`.
    static func begin(_ cluster: RedisClusterProcess, _ settings: [String]) async throws -> Run {
      var script = SimulatorScript()
      script.latency = .milliseconds(20)
      let bed = try await WorkerBed(cluster: cluster, script: script)
      // In more shards than they need.
      try await bed.seed(audience, streamer: "s1", expecting: 120_000)
      let worker = try await bed.startProcess(
        "worker", executable: WorkerExecutable.path,
        settings: ClusterFaultTests.settings + settings)
      try await bed.emit("e1")
      try await bed.middle()
      for node in cluster.nodes { try node.cli("CONFIG", "RESETSTAT") }
      return Run(bed: bed, cluster: cluster, worker: worker)
    }

    /// The place of the master of a key among the cluster's.
    func master(of key: String) throws -> Int {
      let master = try cluster.master(of: RedisSlot(key).number)
      return try #require(cluster.masters.firstIndex { $0 === master })
    }

    /// The replica gets nothing any more, and Redis is told of some segments by then.
    func workOn(without replica: RedisServerProcess) async throws {
      try replica.cli("CONFIG", "SET", "masterauth", "nobody's")
      try replica.cli("CLIENT", "KILL", "TYPE", "master")
      let before = await bed.simulator.summary().accepted
      _ = try await bed.until("some more are sent") {
        await bed.simulator.summary().accepted > before + 1_500 ? true : nil
      }
    }

    /// Nodes have answered with an error so often since the middle: to the worker, for the bed asks
    /// nothing of Redis until the end.
    func worker(
      meets error: String, _ times: Int = 1, at nodes: [RedisServerProcess]
    ) async throws {
      _ = try await bed.until("the worker meets \(error)") {
        let lines = try nodes.flatMap {
          try $0.cli("INFO", "errorstats").split(whereSeparator: \.isNewline)
            .filter { $0.hasPrefix("errorstat_\(error):count=") }
        }
        let counts = lines.map { Int($0.drop { $0 != "=" }.filter(\.isNumber)) ?? 0 }
        return counts.reduce(0, +) >= times ? true : nil
      }
    }

    func expectRunning() async throws { try await bed.expectRunning() }

    func end() async throws {
      try await bed.expectNothingLostOrDoubled(of: audience, by: worker)
    }
  }

  /// That of the event, or that of the statistics; followers, devices and profiles are on each. Its
  /// replica lacks what it did last.
  @Test(arguments: ["ff:{e:e1}", "ff:{stats}:total"])
  func aMasterIsKilledAndItsReplicaPromoted(key: String) async throws {
    let run = try await Run.begin(try RedisClusterProcess(), Self.lasting)
    let index = try run.master(of: key)
    try await run.workOn(without: run.cluster.replicas[index])
    try run.cluster.failOver(index)
    try await run.expectRunning()
    // It comes back as a replica of the one that was its own: what waits for that goes on.
    try run.cluster.masters[index].start()
    try await run.end()
  }

  /// Longer than the others wait for it: it is a replica when it goes on, and what it did meanwhile
  /// is undone.
  @Test func aMasterStandsStillUntilItIsNone() async throws {
    let run = try await Run.begin(try RedisClusterProcess(), Self.lasting)
    let index = try run.master(of: "ff:{e:e1}")
    run.cluster.masters[index].freeze()
    try run.cluster.waitForFailOver(index)
    run.cluster.masters[index].resume()
    try await run.end()
  }

  /// The slot of the event, that of the statistics, and those of some of the users.
  @Test func slotsMoveInTheMiddle() async throws {
    let run = try await Run.begin(try RedisClusterProcess(hasReplicas: false), [])
    let users = (0..<20).map { run.bed.keyspace.bindings(user: Self.audience.user($0 * 900)) }
    for key in ["ff:{e:e1}", "ff:{stats}:total"] + users {
      let slot = RedisSlot(key).number
      let old = try #require(try run.cluster.master(of: slot))
      let new = try #require(run.cluster.masters.last { $0 !== old })
      try run.cluster.beginMove(slot, from: old, to: new)
      // More often than its client asks for one command: what it records waits.
      if key == "ff:{e:e1}" { try await run.worker(meets: "TRYAGAIN", 60, at: [old]) }
      try run.cluster.endMove(slot, from: old, to: new)
    }
    try await run.worker(meets: "MOVED", at: run.cluster.masters)
    try await run.end()
  }

  /// A slot that nobody serves brings all of them down.
  @Test func aClusterIsDownForAWhile() async throws {
    let run = try await Run.begin(try RedisClusterProcess(hasReplicas: false), [])
    let owner = run.cluster.masters[try run.master(of: "ff:{e:e1}")]
    let slot = "\(RedisSlot("ff:{e:e1}").number)"
    try run.cluster.wait("every node to be down") {
      // Who hears from another that still has it takes it up again.
      for node in run.cluster.nodes { try node.cli("CLUSTER", "DELSLOTS", slot) }
      return try run.cluster.nodes.allSatisfy {
        try $0.cli("CLUSTER", "INFO").contains("cluster_state:fail")
      }
    }
    try await run.worker(meets: "CLUSTERDOWN", at: run.cluster.nodes)
    try owner.cli("CLUSTER", "ADDSLOTS", slot)
    try run.cluster.wait("every node to serve again") {
      try run.cluster.nodes.allSatisfy {
        try $0.cli("CLUSTER", "INFO").contains("cluster_state:ok")
      }
    }
    try await run.end()
  }
}
