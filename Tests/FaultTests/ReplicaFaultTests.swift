import APNsSimulator
import Devices
import Fixtures
import Processes
import ServerProcesses
import TestBed
import Testing

/// What happens to the replicas that a fan-out reads bindings and profiles from, in its middle. The
/// simulator's ledger is the judge, as everywhere.
@Suite(.serialized) struct ReplicaFaultTests {
  private static let audience = SyntheticAudience(
    followers: 20_000, seed: 43, topic: WorkerBed.app, mutedShare: 0)
  private static let settings = [
    "apns.streams_per_connection=20", "redis.command_timeout=2s", "redis.reconnect_maximum=500ms",
    "redis.read_from_replicas=true", "redis.replica_lag_limit=3s",
  ]

  private struct Run {
    let bed: WorkerBed
    let replica: RedisServerProcess
    let worker: ChildProcess

    /// In the middle of the fan-out of `e1`, whose pages a replica has answered so far.
    static func begin(_ bed: WorkerBed, _ replica: RedisServerProcess) async throws -> Run {
      // In more shards than they need.
      try await bed.seed(audience, streamer: "s1", expecting: 120_000)
      let worker = try await bed.startProcess(
        "worker", executable: WorkerExecutable.path, settings: settings)
      _ = try await bed.until("replicas are read from") {
        try replica.cli("CLIENT", "LIST", "TYPE", "normal").contains("name=fanfare") ? true : nil
      }
      try await bed.emit("e1")
      try await bed.middle()
      return Run(bed: bed, replica: replica, worker: worker)
    }

    static func begin() async throws -> Run {
      var script = SimulatorScript()
      script.latency = .milliseconds(20)
      let master = try RedisServerProcess()
      let replica = try RedisServerProcess(
        options: ["--replicaof", "127.0.0.1 \(master.port)", "--repl-diskless-sync-delay", "0"])
      return try await begin(try await WorkerBed(redis: master, script: script), replica)
    }

    func expectRunning() async throws { try await bed.expectRunning() }

    func end() async throws {
      try await bed.expectNothingLostOrDoubled(of: audience, by: worker)
    }
  }

  @Test func aReplicaIsKilledAndComesBack() async throws {
    let run = try await Run.begin()
    let read = try run.replica.cli("INFO", "commandstats")
    #expect(read.contains("cmdstat_smembers") && read.contains("cmdstat_hmget"))
    run.replica.kill()
    try await run.expectRunning()
    let before = await run.bed.simulator.summary().accepted
    _ = try await run.bed.until("some more are sent") {
      await run.bed.simulator.summary().accepted > before + 1_000 ? true : nil
    }
    try run.replica.start()
    try await run.end()
  }

  @Test func aReplicaStandsStill() async throws {
    let run = try await Run.begin()
    run.replica.freeze()
    try await run.expectRunning()
    try await run.end()
    run.replica.resume()
  }

  /// Its master forgets it, and it what it had.
  @Test func aReplicaIsMadeAMasterAndEmptied() async throws {
    let run = try await Run.begin()
    try run.replica.cli("REPLICAOF", "NO", "ONE")
    try run.replica.cli("FLUSHALL")
    try await run.expectRunning()
    try await run.end()
  }

  /// Who was read from is the master then.
  @Test func aMasterOfAClusterIsKilledAndItsReplicaPromoted() async throws {
    var script = SimulatorScript()
    script.latency = .milliseconds(20)
    let cluster = try RedisClusterProcess()
    let bed = try await WorkerBed(cluster: cluster, script: script)
    try await bed.seed(Self.audience, streamer: "s1", expecting: 120_000)
    let worker = try await bed.startProcess(
      "worker", executable: WorkerExecutable.path,
      settings: Self.settings + ["redis.wait_for_replicas=1"])
    try await bed.emit("e1")
    try await bed.middle()
    try cluster.failOver(1)
    let run = Run(bed: bed, replica: cluster.replicas[1], worker: worker)
    try await run.expectRunning()
    // What waits for a copy goes on when it has one.
    try cluster.masters[1].start()
    try await run.end()
    let asked = try cluster.replicas.map {
      try $0.cli("INFO", "commandstats").contains("cmdstat_readonly")
    }
    #expect(asked == [true, true, true])
  }
}
