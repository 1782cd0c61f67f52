import APNsSimulator
import Model
import Pipeline
import Record
import Testing
import World

/// Redis loses an event's keys in the middle of its fan-out.
@Suite struct ForgottenEventTests {
  private static let shards = 16
  private static let perShard = 100

  /// What was settled before is told by nobody, and so the event is not called done; but it ends,
  /// and everybody is told.
  @Test(arguments: [
    ["", ":settled"], ["", ":settled", ":claims", ":receipts", ":stragglers", ":dead_letters"],
  ])
  func theEventEndsAndSaysThatSomethingIsForgotten(keys: [String]) throws {
    var script = SimulatorScript()
    script.latency = .milliseconds(50)
    try WorldHarness.live(script: script) { harness in
      harness.followInShards("s1", shards: Self.shards, perShard: Self.perShard) {
        paddedHex($0 << 16 | $1)
      }
      let worker = try harness.startWorker {
        $0.lanes = 1
        $0.limits.segments = 1
        $0.deliver.streamsPerConnection = 10
      }
      harness.emit("e1")
      _ = try harness.until("some segments are settled") {
        harness.status("e1").map { $0.settled >= 2 ? true : nil } ?? nil
      }
      harness.redis(["DEL"] + keys.map { "ff:{e:e1}\($0)" })
      let all = Self.shards * Self.perShard
      _ = try harness.until("everybody is told") {
        harness.summary.accepted == all ? true : nil
      }
      let status: FanOutStatus = try harness.until("the event ends") {
        let status = harness.status("e1")
        return status?.state == .incomplete ? status : nil
      }
      #expect(harness.stop(worker))
      #expect(status[.forgotten] > 0 && status.deadLettered == 0)
      let end = try #require(harness.status("e1"))
      #expect(end.state == .incomplete && end.isBalanced)
      #expect(end.settled < Self.shards && end.accepted == end.settled * Self.perShard)
      #expect(harness.summary.duplicates == 0)
      let lines = harness.lines.filter { $0.contains("fan-out incomplete") }
      #expect(lines.count == 1 && lines[0].contains("Redis has lost what was noted of it"))
    }
  }
}
