import APNsSimulator
import Model
import Pipeline
import Record
import Redis
import Telemetry
import Testing
import World

/// Limits of pushes a second that all workers share.
@Suite struct LimitTests {
  private static func emit(
    _ id: String, _ streamer: String, pushesPerSecond: Int, _ harness: WorldHarness
  ) throws {
    let now = WallClock.rfc3339(harness.now)
    let document = """
      {"id":"\(id)","app":"\(WorldHarness.app)","streamer":{"id":"\(streamer)","name":"Aiko"},\
      "stream":{"id":"b1","title":"Speedrun night"},"occurred_at":"\(now)",\
      "pushes_per_second":\(pushesPerSecond)}
      """
    harness.append(document, key: streamer)
  }

  /// What may go at once, and what may go beside the rate: tokens that lanes have already.
  private static func expect(
    _ status: FanOutSpan, atMost rate: Int, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let allowed = Double(rate) * (status.seconds + 0.5)
    #expect(
      Double(status.pushes) <= allowed, "\(status.pushes) in \(status.seconds) s",
      sourceLocation: sourceLocation)
  }

  private struct FanOutSpan {
    let pushes: Int
    let seconds: Double
  }

  private static func span(_ event: String, _ harness: WorldHarness) throws -> FanOutSpan {
    let status = try harness.finished(event)
    #expect(status.state == .done && status.isBalanced && status.accepted == status.pushes)
    return FanOutSpan(
      pushes: status.pushes,
      seconds: Double(status.lastPushAt - status.firstPushAt) / 1_000)
  }

  /// Its segments would have every place of the lanes; those of another are sent meanwhile.
  @Test func anEventsLimitHoldsInAllWorkersAndHoldsUpNoOther() throws {
    try WorldHarness.live { harness in
      harness.followInShards("giant", shards: 16, perShard: 150) { paddedHex($0 << 16 | $1) }
      harness.followInShards("usual", shards: 8, perShard: 100) {
        paddedHex(1 << 30 | $0 << 16 | $1)
      }
      for number in 1...2 {
        _ = try harness.startWorker("worker-\(number)") {
          $0.straggleDelay = .milliseconds(500)
        }
      }
      try harness.ready(workers: 2)
      try Self.emit("slow", "giant", pushesPerSecond: 20, harness)
      _ = try harness.until("it is held up") {
        harness.summary.accepted >= 10 ? true : nil
      }
      harness.emit("e2", streamer: "usual")
      let usual = try harness.finished("e2")
      #expect(usual.accepted == 800)
      let slow = harness.status("slow")
      #expect(slow?.state == .running, "2,400 take two minutes")
      let keyspace = harness.keyspace
      let cancelled = try harness.withRedis { redis in
        try await RecordStage(redis: redis, keyspace: keyspace)
          .setHalt(.cancelled, of: "slow", reason: "test", now: 1)
      }
      #expect(cancelled == .done)
      let status = try harness.finished("slow")
      #expect(status.isBalanced && status.pushes == 2400 && status.cancelled > 0)
      let milliseconds = status.lastPushAt - status.firstPushAt
      Self.expect(
        FanOutSpan(pushes: status.accepted, seconds: Double(milliseconds) / 1_000), atMost: 20)
      #expect(harness.summary.duplicates == 0)
    }
  }

  /// Five events of an app share its limit; all come to their end.
  @Test func anAppsLimitHoldsForAllItsEvents() throws {
    try WorldHarness.live { harness in
      harness.followInShards("s1", shards: 4, perShard: 100) { paddedHex($0 << 16 | $1) }
      let worker = try harness.startWorker {
        $0.rates.apps = [WorldHarness.app: 500]
        $0.straggleDelay = .milliseconds(500)
        $0.heartbeatInterval = .milliseconds(20)
      }
      try harness.ready()
      for number in 1...5 { harness.emit("e\(number)") }
      let keyspace = harness.keyspace
      let named = try harness.until("the heartbeat names the limit") {
        let field = try harness.withRedis { redis in
          try await redis.execute(
            RedisPipeline(["HGET", keyspace.worker(id: "worker-1"), "limits"]))[0].text
        }
        return field?.isEmpty == false ? field : nil
      }
      #expect(named == "app \(WorldHarness.app): 500 pushes a second")
      for number in 1...5 { #expect(try harness.finished("e\(number)").accepted == 400) }
      let summary = harness.summary
      #expect(summary.accepted == 2000)
      let seconds = Double(summary.lastArrival - summary.firstArrival) / 1_000_000
      Self.expect(FanOutSpan(pushes: 2000, seconds: seconds), atMost: 500)
      _ = harness.stop(worker)
    }
  }

  /// What waits for the limit is left to the others: nothing is lost, and nothing sent twice.
  @Test func aWorkerThatStopsLeavesWhatWaits() throws {
    try WorldHarness.live { harness in
      harness.followInShards("giant", shards: 8, perShard: 150) { paddedHex($0 << 16 | $1) }
      let first = try harness.startWorker {
        $0.straggleDelay = .milliseconds(500)
        $0.drainTimeout = .milliseconds(200)
      }
      try harness.ready()
      try Self.emit("slow", "giant", pushesPerSecond: 300, harness)
      _ = try harness.until("some are accepted") {
        harness.summary.accepted >= 200 ? true : nil
      }
      _ = harness.stop(first)
      #expect(harness.summary.accepted < 1200)
      _ = try harness.startWorker("worker-2") {
        $0.straggleDelay = .milliseconds(500)
      }
      let span = try Self.span("slow", harness)
      #expect(span.pushes == 1200)
      Self.expect(span, atMost: 300)
      #expect(harness.summary.duplicates == 0)
    }
  }

  /// What cannot go in time expires, also where it waits as a record.
  @Test func anEventExpiresWhileItsLimitHoldsItUp() throws {
    try WorldHarness.live { harness in
      harness.followInShards("giant", shards: 16, perShard: 100) { paddedHex($0 << 16 | $1) }
      _ = try harness.startWorker {
        $0.rates.event = 50
        $0.straggleDelay = .milliseconds(500)
      }
      try harness.ready()
      harness.emit("slow", streamer: "giant", expiresIn: 4)
      let status = try harness.finished("slow")
      let summary = harness.summary
      #expect(status.isBalanced && status.pushes == 1600)
      #expect(status.accepted == summary.accepted)
      #expect(summary.accepted > 0 && summary.accepted < 400)
      #expect(status.accepted + status.expired == 1600)
    }
  }
}
