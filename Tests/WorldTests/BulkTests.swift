import Pipeline
import Record
import Testing
import World

/// Events of so many segments that they have a topic of their own.
@Suite struct BulkTests {
  private static func followers(_ harness: WorldHarness, shards: Int) throws {
    harness.followInShards("s1", shards: shards, perShard: 2) { shard, index in
      paddedHex(shard << 16 | index)
    }
  }

  private static let segments = "notify-followers.segments"
  private static let bulk = "notify-followers.segments.bulk"

  /// 64 segments are the last that are of usual size.
  @Test(arguments: [64, 128, 256, 512])
  func aGiantHasATopicOfItsOwnAndIsWrittenInWindows(shards: Int) throws {
    try WorldHarness.live { harness in
      try Self.followers(harness, shards: shards)
      let worker = try harness.startWorker()
      harness.emit("e1")
      let status = try harness.finished("e1")
      #expect(status.accepted == 2 * shards && status.isBalanced && status.settled == shards)
      #expect(status[.published] == shards)
      #expect(harness.stop(worker))
      #expect(harness.records(of: Self.segments) == (shards == 64 ? 64 : 0))
      // Behind each window but the last is a record that brings the next one.
      let more = shards / 128 - 1
      #expect(harness.records(of: Self.bulk) == (shards == 64 ? 0 : shards + more))
      let summary = harness.summary
      #expect(summary.duplicates == 0 && summary.accepted == 2 * shards)
    }
  }

  /// What is read again, after a crash or a rebalance, writes no window a second time.
  @Test func aPlanThatIsReadAgainWritesNothing() throws {
    try WorldHarness.live { harness in
      try Self.followers(harness, shards: 512)
      harness.world.broker.fail(
        next: .commit, with: Array(repeating: .topicAuthorizationFailed, count: 1000))
      let first = try harness.startWorker()
      harness.emit("e1")
      _ = try harness.finished("e1")
      #expect(harness.stop(first))
      let second = try harness.startWorker("worker-2")
      _ = try harness.until("all is read again") {
        harness.metrics(second).contains(
          "\nfanfare_segments_total{result=\"already_settled\"} 512\n") ? true : nil
      }
      #expect(harness.stop(second))
      #expect(harness.records(of: Self.bulk) == 515)
    }
  }
}
