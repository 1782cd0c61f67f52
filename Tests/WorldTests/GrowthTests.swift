import APNsSimulator
import Testing
import World

/// A whole worker with few streams, and an Apple that is far away: under load it has more
/// connections, and afterwards those that it began with.
@Suite struct GrowthTests {
  @Test func aLargeEventHasMoreConnections() throws {
    let (shards, perShard) = (8, 500)
    var script = SimulatorScript()
    script.latency = .milliseconds(60)
    try WorldHarness.live(script: script) { harness in
      harness.followInShards("s1", shards: shards, perShard: perShard) {
        paddedHex($0 << 16 | $1)
      }
      let worker = try harness.startWorker {
        $0.lanes = 1
        $0.deliver.connectionsPerRoute = 1
        $0.deliver.mostConnectionsPerRoute = 3
        $0.deliver.streamsPerConnection = 20
        $0.deliver.growAfter = .milliseconds(500)
        $0.deliver.shrinkAfter = .seconds(3)
      }
      try harness.ready()
      #expect(harness.summary.connections == 1)
      harness.emit("e1")
      _ = try harness.until("it has three connections") {
        harness.summary.openConnections == 3 ? true : nil
      }
      let status = try harness.finished("e1")
      #expect(status.isBalanced && status.accepted == shards * perShard)
      _ = try harness.until("it has one connection") {
        harness.summary.openConnections == 1 ? true : nil
      }
      let summary = harness.summary
      #expect(summary.duplicates == 0 && summary.requests == shards * perShard)
      #expect(harness.stop(worker))
    }
  }
}
