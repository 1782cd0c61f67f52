import Pipeline
import Record
import TestBed
import Testing

/// Events of so many segments that they have a topic of their own.
@Suite(.serialized) struct BulkTests {
  private static func followers(_ bed: WorkerBed, shards: Int) async throws {
    try await bed.followInShards("s1", shards: shards, perShard: 2) { shard, index in
      paddedHex(shard << 16 | index)
    }
  }

  private static let segments = "notify-followers.segments"
  private static let bulk = "notify-followers.segments.bulk"

  /// 64 segments are the last that are of usual size.
  @Test(arguments: [64, 128, 256, 512])
  func aGiantHasATopicOfItsOwnAndIsWrittenInWindows(shards: Int) async throws {
    let bed = try await WorkerBed()
    try await Self.followers(bed, shards: shards)
    let worker = try await bed.startWorker()
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.accepted == 2 * shards && status.isBalanced && status.settled == shards)
    #expect(status[.published] == shards)
    #expect(await worker.stop())
    #expect(try bed.records(of: Self.segments) == (shards == 64 ? 64 : 0))
    // Behind each window but the last is a record that brings the next one.
    let more = shards / 128 - 1
    #expect(try bed.records(of: Self.bulk) == (shards == 64 ? 0 : shards + more))
    let summary = await bed.simulator.summary()
    #expect(summary.duplicates == 0 && summary.accepted == 2 * shards)
  }

  /// What is read again, after a crash or a rebalance, writes no window a second time.
  @Test func aPlanThatIsReadAgainWritesNothing() async throws {
    let bed = try await WorkerBed()
    try await Self.followers(bed, shards: 512)
    bed.broker?.fail(
      next: .offsetCommit, with: Array(repeating: .topicAuthorizationFailed, count: 1000))
    let first = try await bed.startWorker()
    try await bed.emit("e1")
    _ = try await bed.finished("e1")
    #expect(await first.stop())
    let second = try await bed.startWorker { $0.workerID = "worker-2" }
    _ = try await bed.until("all is read again") {
      await second.metrics().text.contains(
        "\nfanfare_segments_total{result=\"already_settled\"} 512\n") ? true : nil
    }
    #expect(await second.stop())
    #expect(try bed.records(of: Self.bulk) == 515)
  }
}
