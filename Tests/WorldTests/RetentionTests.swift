import APNsSimulator
import Pipeline
import Record
import Testing
import World

/// Records that Kafka throws away before any worker has read them. That a real
/// consumer tells of them: MemoryKafkaTests.ContractReadingTests.
@Suite struct RetentionTests {
  private static let shards = 32
  private static let perShard = 20
  private static let segments = "notify-followers.segments"

  /// The event is planned again, but for what is settled.
  @Test func segmentsThatKafkaNoLongerHasArePlannedAgain() throws {
    try Self.live(expiresIn: 600) { harness in
      let heir = try harness.startWorker()
      let status = try harness.finished("e1")
      #expect(status.state == .done && status.isBalanced)
      #expect(status.pushes == Self.shards * Self.perShard)
      #expect(status.deadLettered == 0)
      #expect(harness.lines.contains { $0.contains("no worker had read") })
      let lost = try Self.skipped(harness.metrics(heir))
      #expect(lost > 0)
      #expect(harness.stop(heir))
    }
  }

  /// Where Redis does not keep the event, nobody knows what it said. The fan-out ends some time
  /// after the event is over.
  @Test func aFanOutWhoseSegmentsAreLostForGoodIsIncomplete() throws {
    try Self.live(expiresIn: 30, victim: { $0.record.trace = nil }) { harness in
      let heir = try harness.startWorker {
        $0.record.trace = nil
        $0.straggleDelay = .milliseconds(500)
        $0.claimLifetime = .seconds(1)
      }
      let status = try harness.finished("e1")
      #expect(status.state == .incomplete && status.isBalanced)
      #expect(status.deadLettered > 0)
      #expect(status.settled + status.deadLettered == status.segments + status.stragglers)
      #expect(harness.redis("HGET", "ff:{e:e1}", "dead_letter").hasSuffix(" lost"))
      #expect(harness.lines.contains { $0.contains("the records of the rest of it are lost") })
      #expect(harness.stop(heir))
    }
  }

  /// A worker was killed in the middle, and what it had not read is thrown away.
  private static func live(
    expiresIn: Int, victim change: (inout PipelineOptions) -> Void = { _ in },
    _ body: (WorldHarness) throws -> Void
  ) throws {
    var script = SimulatorScript()
    script.latency = .milliseconds(100)
    try WorldHarness.live(script: script) { harness in
      harness.followInShards("s1", shards: shards, perShard: perShard) { paddedHex($0 << 16 | $1) }
      let victim = try harness.startWorker("victim") {
        $0.deliver.streamsPerConnection = 5
        change(&$0)
      }
      harness.emit("e1", expiresIn: expiresIn)
      try harness.wait(for: "some segments are settled") {
        guard let status = harness.status("e1") else { return false }
        return status.settled >= 2 && status[.published] == status.segments
      }
      victim.kill()
      for partition in harness.world.partitions(of: segments) {
        let end = harness.world.broker.end(of: partition) ?? 0
        harness.world.broker.deleteRecords(of: partition, before: end)
      }
      try body(harness)
    }
  }

  private static func skipped(_ metrics: String) throws -> Int {
    let line = metrics.split(separator: "\n").first {
      $0.hasPrefix("fanfare_kafka_records_skipped_total{topic=\"\(segments)\"}")
    }
    return try #require(line?.split(separator: " ").last.flatMap { Int($0) })
  }
}
