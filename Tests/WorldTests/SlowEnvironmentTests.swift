import APNsSimulator
import Deliver
import Model
import Pipeline
import Record
import Telemetry
import Testing
import Transport
import World

/// A sandbox that takes some pushes a second, beside a production that takes them all. Nothing here
/// is judged by a clock: what counts is how little the sandbox has taken when production is done.
@Suite struct SlowEnvironmentTests {
  private func live(_ body: (WorldHarness, WorldSandbox) throws -> Void) throws {
    try WorldHarness.live { harness in
      var script = SimulatorScript()
      script.latency = .seconds(1)
      try body(harness, harness.startSandbox(streams: 5, script: script))
    }
  }

  private func startWorker(
    _ harness: WorldHarness, retryAfter delay: Duration? = nil
  ) throws -> WorldWorker {
    let worker = try harness.startWorker { options in
      if let delay { options.deliver.retry = RetryPolicy(initial: delay, maximum: delay) }
      options.straggleAfter = .milliseconds(500)
      options.straggleDelay = .milliseconds(500)
    }
    try harness.ready()
    return worker
  }

  /// Of each segment every tenth device is of the sandbox.
  @Test func costsTheProductionDevicesOfTheSameAudienceLittle() throws {
    try live { harness, sandbox in
      let (shards, perShard) = (32, 50)
      for destination in [Destination.production, .sandbox] {
        harness.followInShards(
          "s1", shards: shards, perShard: perShard, destination: destination
        ) { shard, index in
          (index % 10 == 0) == (destination == .sandbox) ? paddedHex(shard << 16 | index) : nil
        }
      }
      let worker = try startWorker(harness)
      harness.emit("e1")
      _ = try harness.until("production has all of its pushes") {
        harness.summary.tokensAccepted == shards * perShard / 10 * 9 ? true : nil
      }
      #expect(sandbox.summary.accepted < shards * perShard / 10 / 2)
      // What has left its segment comes back and is sent, once.
      sandbox.replaceScript(SimulatorScript())
      let status = try harness.finished("e1")
      #expect(status.isBalanced && status.accepted == shards * perShard)
      #expect(sandbox.summary.duplicates == 0)
      // It is not written to Kafka over and over.
      #expect(status.stragglers > 0 && status.stragglers <= 2 * shards)
      #expect(harness.summary.duplicates == 0)
      #expect(harness.stop(worker))
    }
  }

  /// More segments of the sandbox alone than there are places, and behind them one that could go.
  @Test func leavesPlacesToSegmentsThatNeedNotWait() throws {
    try live { harness, sandbox in
      harness.followInShards(
        "slow", shards: 32, perShard: 200, destination: .sandbox
      ) { shard, index in paddedHex(1 << 40 | shard << 16 | index) }
      harness.followInShards("good", shards: 32, perShard: 50) { shard, index in
        paddedHex(2 << 40 | shard << 16 | index)
      }
      let worker = try startWorker(harness)
      harness.emit("slow", streamer: "slow")
      _ = try harness.until("the sandbox is busy") {
        sandbox.summary.accepted >= 20 ? true : nil
      }
      harness.emit("good", streamer: "good")
      let good = try harness.finished("good")
      #expect(good.accepted == 32 * 50 && good.isBalanced && good.stragglers == 0)
      #expect(sandbox.summary.accepted < 32 * 200 / 4)
      sandbox.replaceScript(SimulatorScript())
      let slow = try harness.finished("slow")
      #expect(slow.isBalanced && slow.accepted == 32 * 200)
      #expect(sandbox.summary.duplicates == 0)
      #expect(harness.stop(worker))
    }
  }

  private static let lists = 300
  private static let perList = 20

  /// Lists of stragglers of the sandbox, as segments left them.
  private func emitSlowLists(_ harness: WorldHarness) throws {
    harness.followInShards(
      "slow", shards: 1, perShard: Self.lists * Self.perList, destination: .sandbox
    ) { _, index in paddedHex(1 << 40 | index) }
    let names = (0..<Self.lists).map { "1.0~\(paddedHex($0).suffix(16))" }
    harness.redis(["SADD", "ff:{e:slow}:stragglers"] + names)
    harness.redis("SADD", "ff:{e:slow}:settled", "1.0")
    harness.redis(
      "HSET", "ff:{e:slow}", "state", "running", "source", "notify-followers/0/0", "segments", "1",
      "settled", "1", "stragglers", "\(Self.lists)", "waiting", "\(Self.lists * Self.perList)")
    let time = WallClock.rfc3339(harness.now)
    for (number, name) in names.enumerated() {
      let pushes = (0..<Self.perList).map { place in
        let user = number * Self.perList + place
        let member = "apns:sandbox:\(WorldHarness.app):\(paddedHex(1 << 40 | user))"
        return #"["slow-u\#(user)","\#(member)",1,0,0,false]"#
      }
      let record = """
        {"event":{"id":"slow","app":"\(WorldHarness.app)","streamer":{"id":"slow","name":"Aiko"},\
        "stream":{"id":"b1","title":"T"},"template":"go-live","occurred_at":"\(time)",\
        "expires_in":600},"id":"\(name)","parent":"1.0",\
        "stragglers":[\(pushes.joined(separator: ","))],"segments":1}
        """
      harness.append(
        record, key: name, topic: "notify-followers.stragglers")
    }
  }

  /// Hundreds of lists of the sandbox, and one of production that is written behind them.
  @Test func itsListsOfStragglersDelayNoOthers() throws {
    try live { harness, sandbox in
      try emitSlowLists(harness)
      // Refused once, and then taken.
      let tokens = (0..<8).map { MagicTokens.prefix + "1503" + paddedHex($0).suffix(52) }
      harness.follow("good", tokens: tokens)
      let worker = try startWorker(harness, retryAfter: .seconds(20))
      _ = try harness.until("the sandbox is busy") {
        sandbox.summary.accepted >= 20 ? true : nil
      }
      harness.emit("good", streamer: "good")
      let good = try harness.finished("good")
      #expect(good.accepted == 8 && good.stragglers > 0 && good.isBalanced)
      let all = Self.lists * Self.perList
      let taken = sandbox.summary.accepted
      #expect(taken < all / 4)
      // It goes on to take what it can.
      _ = try harness.until("more are taken") {
        sandbox.summary.accepted >= taken + 60 ? true : nil
      }
      sandbox.replaceScript(SimulatorScript())
      let slow = try harness.finished("slow")
      #expect(slow.isBalanced && slow.accepted == all && slow.settled == 1 + Self.lists)
      #expect(sandbox.summary.duplicates == 0)
      #expect(harness.stop(worker))
    }
  }
}
