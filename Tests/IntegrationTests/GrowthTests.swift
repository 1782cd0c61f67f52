import APNsSimulator
import TestBed
import Testing

/// A whole worker with few streams, and an Apple that is far away: under load it has more
/// connections, and afterwards those that it began with.
@Suite struct GrowthTests {
  @Test func aLargeEventHasMoreConnections() async throws {
    let (shards, perShard) = (12, 500)
    var script = SimulatorScript()
    script.latency = .milliseconds(60)
    let bed = try await WorkerBed(script: script)
    try await bed.followInShards("s1", shards: shards, perShard: perShard) {
      paddedHex($0 << 16 | $1)
    }
    let worker = try await bed.startWorker {
      $0.lanes = 1
      $0.deliver.connectionsPerRoute = 1
      $0.deliver.mostConnectionsPerRoute = 3
      $0.deliver.streamsPerConnection = 20
      $0.deliver.growAfter = .milliseconds(500)
      $0.deliver.shrinkAfter = .seconds(3)
    }
    try await bed.ready()
    let simulator = bed.simulator
    #expect(await simulator.summary().connections == 1)
    try await bed.emit("e1")
    _ = try await bed.until("it has three connections") {
      await simulator.summary().openConnections == 3 ? true : nil
    }
    let status = try await bed.finished("e1")
    #expect(status.isBalanced && status.accepted == shards * perShard)
    _ = try await bed.until("it has one connection") {
      await simulator.summary().openConnections == 1 ? true : nil
    }
    let summary = await simulator.summary()
    #expect(summary.duplicates == 0 && summary.requests == shards * perShard)
    #expect(await worker.stop())
  }
}
