import APNsSimulator
import Deliver
import Kafka
import Model
import Pipeline
import Record
import Telemetry
import Testing
import Transport
import World

/// Pushes that cannot be sent beside pushes that can: the good ones pay nothing for the bad ones.
@Suite struct StragglerTests {
  private static func sticky(_ code: String, _ number: Int) -> String {
    let start = MagicTokens.prefix + code
    let digits = String(number, radix: 16)
    return start + String(repeating: "c", count: 64 - start.count - digits.count) + digits
  }

  /// A lane that may keep next to nothing makes one batch of each segment at a time, and ends.
  @Test func alsoALaneThatMayKeepNothingGoesOn() throws {
    try WorldHarness.live { harness in
      harness.followInShards("s1", shards: 8, perShard: 200) { shard, index in
        index % 20 == 0 ? Self.sticky("0429", shard << 8 | index) : paddedHex(shard << 16 | index)
      }
      let worker = try harness.startWorker {
        $0.lanes = 1
        $0.limits.batchPushes = 20
        $0.limits.batchBytes = 1
        $0.straggleAfter = .milliseconds(500)
        $0.straggleDelay = .milliseconds(500)
      }
      try harness.ready()
      harness.emit("e1", expiresIn: 60)
      let status = try harness.finished("e1")
      #expect(status.accepted == 8 * 190 && status.rejected == ["TooManyRequests": 80])
      #expect(status.pushes == 8 * 200 && status.isBalanced)
      #expect(harness.summary.duplicates == 0)
      #expect(harness.stop(worker))
    }
  }

  /// Each push waits for its answer, and keeps its batch meanwhile.
  @Test func aLaneKeepsNoMoreThanItMay() throws {
    var script = SimulatorScript()
    script.latency = .milliseconds(100)
    try WorldHarness.live(script: script) { harness in
      harness.followInShards("s1", shards: 4, perShard: 200) { paddedHex($0 << 16 | $1) }
      let worker = try harness.startWorker {
        $0.lanes = 1
        $0.limits.batchPushes = 20
        $0.limits.batchBytes = 1
        $0.heartbeatInterval = .milliseconds(10)
      }
      try harness.ready()
      harness.emit("e1")
      var most = 0
      var accepted = 0
      for _ in 0..<10_000 where accepted < 800 {
        most = max(most, Int(harness.redis("HGET", "ff:worker:worker-1", "streams")) ?? 0)
        accepted = harness.summary.accepted
        harness.pass(.milliseconds(10))
      }
      #expect(accepted == 800)
      #expect(most > 0 && most <= 4 * 20, "a batch of each segment")
      #expect(try harness.finished("e1").accepted == 800)
      #expect(harness.stop(worker))
    }
  }

  /// The sandbox cannot be reached; production has never heard of it.
  @Test func aClosedSandboxCostsProductionNothing() throws {
    try WorldHarness.live { harness in
      harness.world.network.change(World.sandbox) { $0.isRefused = true }
      for (streamer, destination) in [("s1", Destination.production), ("s2", .sandbox)] {
        harness.followInShards(
          streamer, shards: 8, perShard: 100, destination: destination
        ) { shard, index in
          paddedHex((destination == .sandbox ? 1 : 2) << 40 | shard << 16 | index)
        }
      }
      let worker = try harness.startWorker { options in
        options.straggleAfter = .milliseconds(300)
        options.straggleDelay = .milliseconds(500)
      }
      try harness.ready()
      harness.emit("closed", streamer: "s2", expiresIn: 600)
      _ = try harness.until("the sandbox's pushes wait") {
        harness.status("closed").map { $0.stragglers > 0 ? true : nil } ?? nil
      }
      harness.emit("open", streamer: "s1", expiresIn: 300)
      let open = try harness.finished("open")
      #expect(open.accepted == 800 && open.isBalanced && open.stragglers == 0)
      // It was done while the other one waited.
      let waiting = try #require(harness.status("closed"))
      #expect(waiting.state == .running && waiting.obstacle.contains("sandbox: unreachable"))
      // One device each: whoever was found has an outcome or waits for one.
      #expect(waiting.waiting + waiting.pushes == waiting.recipients && waiting.recipients > 0)
      #expect(harness.stop(worker))
    }
  }

  /// What waits survives its worker, with everything else sent once.
  @Test func stragglersOutliveTheWorkerThatWroteThem() throws {
    try WorldHarness.live { harness in
      harness.followInShards("s1", shards: 4, perShard: 50) { shard, index in
        index == 0 ? Self.sticky("2503", shard) : paddedHex(shard << 16 | index)
      }
      let first = try harness.startWorker {
        $0.deliver.retry = RetryPolicy(initial: .seconds(5), maximum: .seconds(5))
        $0.straggleAfter = .milliseconds(200)
        $0.straggleDelay = .seconds(1)
      }
      try harness.ready()
      harness.emit("e1", expiresIn: 120)
      let before: FanOutStatus = try harness.until("all are settled but for their stragglers") {
        let status = harness.status("e1")
        return status.map { $0.settled >= 4 && $0.accepted == 196 } == true ? status : nil
      }
      #expect(before.waiting == 4 && before.pushes == 196)
      #expect(harness.stop(first))
      let second = try harness.startWorker { $0.straggleDelay = .seconds(1) }
      let status = try harness.finished("e1")
      #expect(status.accepted == 200 && status.isBalanced && status.recipients == 200)
      #expect(status.waiting == 0)
      #expect(harness.summary.duplicates == 0)
      #expect(harness.stop(second))
    }
  }

  /// A device that is unbound while its push waits gets none.
  @Test func whoLogsOutMeanwhileGetsNothing() throws {
    try WorldHarness.live { harness in
      let token = Self.sticky("3503", 1)
      harness.follow("s1", tokens: [token, paddedHex(7)])
      let worker = try harness.startWorker {
        $0.deliver.retry = RetryPolicy(initial: .seconds(5), maximum: .seconds(5))
        $0.straggleAfter = .milliseconds(100)
        $0.straggleDelay = .seconds(3)
      }
      try harness.ready()
      harness.emit("e1", expiresIn: 120)
      _ = try harness.until("the push waits") {
        harness.status("e1").map { $0.stragglers == 1 ? true : nil } ?? nil
      }
      harness.redis("DEL", "ffd:{u:s1-u0}:bindings")
      let status = try harness.finished("e1")
      #expect(status.accepted == 1 && status.cancelled == 1 && status.pushes == 2)
      #expect(status.isBalanced)
      #expect(harness.counts(of: token).accepted == 0)
      #expect(harness.stop(worker))
    }
  }

  /// A user's other device has had its push, and the tries of one that is never taken add up over
  /// all the records that carry it.
  @Test func onlyTheDeviceThatWaitsIsTriedAgain() throws {
    try WorldHarness.live { harness in
      let sticky = Self.sticky("0429", 1)
      harness.follow("s1", tokens: [sticky, paddedHex(8)])
      let other = "apns:production:\(WorldHarness.app):\(paddedHex(7))"
      harness.redis("SADD", "ffd:{u:s1-u0}:bindings", other)
      let worker = try harness.startWorker {
        $0.deliver.retry = RetryPolicy(initial: .seconds(20), maximum: .seconds(20))
        $0.straggleAfter = .milliseconds(50)
        $0.straggleDelay = .milliseconds(200)
      }
      try harness.ready()
      harness.emit("e1", expiresIn: 40)
      let status = try harness.finished("e1")
      #expect(status.rejected == ["TooManyRequests": 1] && status.expired == 0)
      #expect(status.accepted == 2 && status.pushes == 3 && status.recipients == 2)
      #expect(status.isBalanced && status.stragglers == 9 && status.waiting == 0)
      #expect(harness.counts(of: sticky).requests == 10)
      #expect(harness.counts(of: paddedHex(7)).requests == 1)
      #expect(harness.stop(worker))
    }
  }

  /// Lists whose segments left no mark, as after a fail-over of Redis, and so many that they must
  /// not all be kept in mind: they stand in the way of nobody's stragglers, and are not asked about
  /// for ever.
  @Test func stragglersOfForgottenSegmentsStopNoOthers() throws {
    try WorldHarness.live { harness in
      let forgotten = 300
      harness.follow("many", tokens: (0..<forgotten).map(paddedHex))
      harness.follow("good", tokens: [Self.sticky("1503", 999)])
      let worker = try harness.startWorker {
        $0.deliver.retry = RetryPolicy(initial: .seconds(20), maximum: .seconds(20))
        $0.straggleAfter = .milliseconds(100)
        $0.straggleDelay = .seconds(2)
      }
      try harness.ready()
      for number in 0..<forgotten { try Self.emitForgotten(harness, number) }
      _ = try harness.until("each was read, and deferred") {
        let lines = harness.lines.filter {
          $0.contains("the segment that they left is not settled")
        }
        let events = lines.compactMap {
          $0.split(separator: "event=").last?.prefix { $0 != " " }
        }
        return Set(events).count == forgotten ? true : nil
      }
      harness.emit("good", streamer: "good", expiresIn: 300)
      let good = try harness.finished("good")
      #expect(good.accepted == 1 && good.stragglers == 1 && good.isBalanced)
      for number in 0..<forgotten {
        _ = try harness.until("forgotten one \(number) has an outcome") {
          harness.status("e\(number)")?.expired == 1 ? true : nil
        }
      }
      #expect(harness.redis("HGET", "ff:{stats}:total", "dead_letters") == "")
      #expect(harness.stop(worker))
    }
  }

  /// A list that was written half a minute ago. It is sent without its segment some seconds after
  /// it was read first, when its event is over; the dead letters would have it a minute later.
  private static func emitForgotten(_ harness: WorldHarness, _ number: Int) throws {
    let now = harness.now
    let member = "apns:production:\(WorldHarness.app):\(paddedHex(number))"
    let record = """
      {"event":{"id":"e\(number)","app":"\(WorldHarness.app)","streamer":{"id":"many"},\
      "stream":{"id":"b1","title":"T"},"template":"go-live",\
      "occurred_at":"\(WallClock.rfc3339(now))","expires_in":5},"id":"1.0~01","parent":"1.0",\
      "stragglers":[["many-u\(number)","\(member)",1,0,0,false]],"segments":1}
      """
    let headers = [
      KafkaHeader("fanfare-written", String(now - 30_000)),
      KafkaHeader("fanfare-not-before", String(now)),
    ]
    harness.append(
      record, key: "e\(number)", headers: headers,
      topic: "notify-followers.stragglers")
  }

  /// A push that was sent and not answered may be on the device: when its event expires while it
  /// waits in Kafka, "expired" would be a lie.
  @Test func whatMayHaveArrivedDoesNotExpire() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1), paddedHex(2)])
      let worker = try harness.startWorker()
      try harness.ready()
      let id = "1.0~0000000000000001"
      harness.redis("SADD", "ff:{e:e1}:stragglers", id)
      let time = WallClock.rfc3339(harness.now - 60_000)
      let member = "apns:production:\(WorldHarness.app):"
      let record = """
        {"event":{"id":"e1","app":"\(WorldHarness.app)","streamer":{"id":"s1","name":"Aiko"},\
        "stream":{"id":"b1","title":"T"},"template":"go-live","occurred_at":"\(time)",\
        "expires_in":30},"id":"\(id)","parent":"1.0","stragglers":\
        [["s1-u0","\(member)\(paddedHex(1))",0,1,0,true],\
        ["s1-u1","\(member)\(paddedHex(2))",1,0,0,false]],"segments":1}
        """
      harness.append(record, key: "e1", topic: "notify-followers.stragglers")
      let status: FanOutStatus = try harness.until("the list is settled") {
        let status = harness.status("e1")
        return status?.settled == 1 ? status : nil
      }
      #expect(status.expired == 1 && status.rejected == ["Unanswered": 1] && status.isBalanced)
      #expect(harness.stop(worker))
    }
  }
}
