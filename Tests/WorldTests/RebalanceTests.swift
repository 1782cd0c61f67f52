import APNsSimulator
import Deliver
import Devices
import Kafka
import Pipeline
import Testing
import World

/// Members that come and go in the middle of a fan-out, and a group that hands records out again.
@Suite struct RebalanceTests {
  private static let shards = 16
  private static let followers = 40 * shards

  private static func slow() -> SimulatorScript {
    var script = SimulatorScript()
    script.latency = .milliseconds(50)
    return script
  }

  private static func slowly(_ options: inout PipelineOptions) {
    options.deliver.streamsPerConnection = 40
  }

  /// Nothing can be committed, and the worker dies: its successor reads everything again.
  @Test func whatWasPublishedIsNotPublishedAgain() throws {
    try WorldHarness.live(script: Self.slow()) { harness in
      harness.followInShards("s1", shards: Self.shards, perShard: 40) { paddedHex($0 << 16 | $1) }
      harness.world.broker.fail(
        next: .commit, with: Array(repeating: .topicAuthorizationFailed, count: 10_000))
      let first = try harness.startWorker {
        Self.slowly(&$0)
        $0.drainTimeout = .zero
      }
      try harness.ready()
      harness.emit("e1")
      try Self.settled(harness, 4)
      _ = harness.stop(first)
      let planned = try #require(harness.status("e1"))
      #expect(planned.state == .running && planned[.published] == planned.segments)
      let second = try harness.startWorker("worker-2")
      let status = try harness.finished("e1")
      #expect(harness.stop(second))
      #expect(status.isBalanced && status.accepted == Self.followers)
      #expect(harness.records(of: "notify-followers.segments") == planned.segments)
    }
  }

  private static func settled(_ harness: WorldHarness, _ count: Int) throws {
    _ = try harness.until("\(count) segments are settled") {
      harness.status("e1").map { $0.settled >= count ? true : nil } ?? nil
    }
  }
}
