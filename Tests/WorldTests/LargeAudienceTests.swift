import Model
import Record
import Testing
import World

/// Audiences whose people have too much, or that are read while Redis is restarted.
@Suite struct LargeAudienceTests {
  private static let followers = 400

  @Test func aRestartUnderAPlainSetSendsAndCountsOnce() throws {
    let count = 3_000
    try WorldHarness.live { harness in
      harness.follow("other", tokens: (0..<count).map(paddedHex))
      harness.redis(["SADD", "followers:s1"] + (0..<count).map { "other-u\($0)" })
      let worker = try harness.startWorker {
        $0.lanes = 1
        $0.expand.plainSetKey = "followers:{streamer}"
        $0.expand.pageSize = 100
        $0.deliver.streamsPerConnection = 20
        $0.deliver.readyPushes = 100
      }
      harness.emit("e1")
      _ = try harness.until("some pushes have gone") {
        harness.summary.accepted > 500 ? true : nil
      }
      harness.world.redis.stop()
      harness.world.redis.start()
      let status = try harness.finished("e1")
      let summary = harness.summary
      #expect(status.isBalanced && status.accepted == count && status.recipients == count)
      #expect(summary.accepted == count && summary.duplicates == 0)
      #expect(harness.stop(worker))
    }
  }
}
