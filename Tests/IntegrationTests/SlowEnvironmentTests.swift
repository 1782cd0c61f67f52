import APNsSimulator
import Deliver
import Model
import Pipeline
import Record
import TestBed
import Testing
import Transport

/// A sandbox that takes some pushes a second, beside a production that takes them all. Nothing here
/// is judged by a clock: what counts is how little the sandbox has taken when production is done.
@Suite(.serialized) struct SlowEnvironmentTests {
  private let bed: WorkerBed
  private let sandbox: APNsSimulator
  private let address: APNsSimulatorAddress

  init() async throws {
    bed = try await WorkerBed()
    // Its key is production's.
    var options = APNsSimulatorOptions(directory: bed.directory.path)
    options.topics = [WorkerBed.app]
    options.isDevelopment = true
    options.firstStreams = 5
    options.streams = 5
    options.script.latency = .seconds(1)
    sandbox = APNsSimulator(options: options) { _ in }
    address = try await sandbox.start()
  }

  private func startWorker() async throws -> Worker {
    let sandbox = Endpoint(host: address.host, port: address.port)
    let worker = try await bed.startWorker { options in
      options.deliver.routes[.sandbox] = options.deliver.routes[.production].map {
        APNsRoute(endpoint: sandbox, tls: $0.tls)
      }
      options.straggleAfter = .milliseconds(500)
      options.straggleDelay = .milliseconds(500)
    }
    try await bed.ready()
    return worker
  }

  /// Of each segment every tenth device is of the sandbox.
  @Test func costsTheProductionDevicesOfTheSameAudienceLittle() async throws {
    let (shards, perShard) = (64, 100)
    for environment in [APNsEnvironment.production, .sandbox] {
      try await bed.followInShards(
        "s1", shards: shards, perShard: perShard, environment: environment
      ) { shard, index in
        (index % 10 == 0) == (environment == .sandbox) ? paddedHex(shard << 16 | index) : nil
      }
    }
    let worker = try await startWorker()
    try await bed.emit("e1")
    let simulator = bed.simulator
    _ = try await bed.until("production has all of its pushes") {
      await simulator.summary().tokensAccepted == shards * perShard / 10 * 9 ? true : nil
    }
    #expect(await sandbox.summary().accepted < shards * perShard / 10 / 2)
    // What has left its segment comes back and is sent, once.
    await sandbox.replaceScript(SimulatorScript())
    let status = try await bed.finished("e1")
    #expect(status.isBalanced && status.accepted == shards * perShard)
    #expect(await sandbox.summary().duplicates == 0)
    // It is not written to Kafka over and over.
    #expect(status.stragglers > 0 && status.stragglers <= 2 * shards)
    #expect(await simulator.summary().duplicates == 0)
    #expect(await worker.stop())
  }

  /// More segments of the sandbox alone than there are places, and behind them one that could go.
  @Test func leavesPlacesToSegmentsThatNeedNotWait() async throws {
    try await bed.followInShards(
      "slow", shards: 32, perShard: 200, environment: .sandbox
    ) { shard, index in paddedHex(1 << 40 | shard << 16 | index) }
    try await bed.followInShards("good", shards: 32, perShard: 50) { shard, index in
      paddedHex(2 << 40 | shard << 16 | index)
    }
    let worker = try await startWorker()
    try await bed.emit("slow", streamer: "slow")
    _ = try await bed.until("the sandbox is busy") {
      await sandbox.summary().accepted >= 20 ? true : nil
    }
    try await bed.emit("good", streamer: "good")
    let good = try await bed.finished("good")
    #expect(good.accepted == 32 * 50 && good.isBalanced && good.stragglers == 0)
    #expect(await sandbox.summary().accepted < 32 * 200 / 4)
    await sandbox.replaceScript(SimulatorScript())
    let slow = try await bed.finished("slow")
    #expect(slow.isBalanced && slow.accepted == 32 * 200)
    #expect(await sandbox.summary().duplicates == 0)
    #expect(await worker.stop())
  }
}
