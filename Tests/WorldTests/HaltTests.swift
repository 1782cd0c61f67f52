import APNsSimulator
import Model
import Pipeline
import Record
import Telemetry
import Testing
import World

/// Somebody pauses a fan-out, lets it go on, cancels it.
@Suite struct HaltTests {
  /// A server that takes some hundred pushes a second.
  private static var slow: SimulatorScript {
    var script = SimulatorScript()
    script.latency = .milliseconds(100)
    script.streams = 10
    return script
  }

  private static func order(_ halt: Halt?, _ event: String, _ harness: WorldHarness) throws {
    let keyspace = harness.keyspace
    let result = try harness.withRedis { redis in
      try await RecordStage(redis: redis, keyspace: keyspace)
        .setHalt(halt, of: event, reason: "test", now: 1)
    }
    #expect(result == .done)
  }

  private static func startWorker(_ harness: WorldHarness) throws -> WorldWorker {
    let worker = try harness.startWorker {
      $0.straggleAfter = .milliseconds(500)
      $0.straggleDelay = .milliseconds(500)
      $0.heartbeatInterval = .milliseconds(20)
    }
    try harness.ready()
    return worker
  }

  private static func hasAccepted(_ count: Int, _ harness: WorldHarness) throws {
    _ = try harness.until("\(count) are accepted") {
      harness.summary.accepted >= count ? true : nil
    }
  }

  /// None of its pushes is answered, and it is the first that an operator wants to see.
  @Test func whatHangsIsKnown() throws {
    var script = SimulatorScript()
    script.rules = [.init(prefix: "0", steps: [.init(.silence)])]
    try WorldHarness.live(script: script) { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let worker = try harness.startWorker {
        $0.deliver.requestTimeout = .seconds(600)
        $0.straggleAfter = .seconds(600)
        $0.drainTimeout = .zero
      }
      harness.emit("e1")
      let keyspace = harness.keyspace
      let known = try harness.until("it is in the list") {
        try harness.withRedis { redis in
          try await RecordStage(redis: redis, keyspace: keyspace).recentFanOuts(atMost: 5).first
        }
      }
      #expect(known.event == "e1" && known.status.state == .running && known.status.settled == 0)
      #expect(harness.redis("HGET", "ff:{stats}:total", "events") == "1")
      _ = harness.stop(worker)
    }
  }

  /// Segments that are under way, and such that nobody has begun.
  @Test func whatIsCancelledIsSentNoMore() throws {
    try WorldHarness.live(script: Self.slow) { harness in
      harness.followInShards("s1", shards: 32, perShard: 200) { paddedHex($0 << 16 | $1) }
      let worker = try Self.startWorker(harness)
      harness.emit("e1")
      try Self.hasAccepted(100, harness)
      try Self.order(.cancelled, "e1", harness)
      let status = try harness.finished("e1")
      let summary = harness.summary
      #expect(status.state == .done && status.isBalanced && status.halt == .cancelled)
      #expect(status.pushes == 6400 && status.recipients == 6400)
      #expect(status.accepted == summary.accepted && summary.duplicates == 0)
      #expect(status.cancelled == 6400 - summary.accepted && status.cancelled > 3000)
      // Another event of the same streamer is not stopped.
      harness.follow("s2", tokens: [paddedHex(1)])
      harness.emit("e2", streamer: "s2")
      #expect(try harness.finished("e2").accepted == 1)
      #expect(harness.stop(worker))
    }
  }

  /// Its time is over, too, when somebody reads the rest of it.
  @Test func whatIsCancelledDoesNotExpire() throws {
    try WorldHarness.live(script: Self.slow) { harness in
      harness.followInShards("s1", shards: 32, perShard: 20) { paddedHex($0 << 16 | $1) }
      let first = try Self.startWorker(harness)
      harness.emit("e1", expiresIn: 20)
      try Self.hasAccepted(100, harness)
      first.kill()
      try Self.order(.cancelled, "e1", harness)
      harness.pass(.seconds(25))
      _ = try harness.startWorker("worker-2")
      let status = try harness.finished("e1")
      #expect(status.isBalanced && status.expired == 0 && status.cancelled > 200)
    }
  }

  /// The lane has nothing else to do, and so still knows the fan-out as it was before.
  @Test func theOnlySegmentGoesOnAsSoonAsItMay() throws {
    try WorldHarness.live(script: Self.slow) { harness in
      harness.followInShards("s1", shards: 1, perShard: 400) { paddedHex($0 << 16 | $1) }
      let worker = try harness.startWorker {
        $0.lanes = 1
        $0.straggleAfter = .milliseconds(500)
        $0.straggleDelay = .milliseconds(500)
      }
      try harness.ready()
      harness.emit("e1")
      try Self.hasAccepted(20, harness)
      try Self.order(.paused, "e1", harness)
      let lists = try harness.until("all of it has left") {
        harness.status("e1").flatMap { $0.waiting > 0 ? $0.stragglers : nil }
      }
      try Self.order(nil, "e1", harness)
      let status = try harness.finished("e1")
      #expect(status.accepted == 400 && status.isBalanced)
      #expect(status.stragglers == lists, "what goes on is written no more")
      #expect(harness.summary.duplicates == 0)
      #expect(harness.stop(worker))
    }
  }

  /// The backend says that the stream is over, and later that the streamer is live again.
  @Test func theEndOfAStreamCancelsWhatToldOfIt() throws {
    try WorldHarness.live(script: Self.slow) { harness in
      harness.followInShards("s1", shards: 32, perShard: 200) { paddedHex($0 << 16 | $1) }
      let worker = try Self.startWorker(harness)
      harness.emit("e1")
      try Self.hasAccepted(100, harness)
      let now = WallClock.rfc3339(harness.now)
      let end = """
        {"type":"stream.ended","streamer":{"id":"s1"},"stream":{"id":"b1"},"occurred_at":"\(now)"}
        """
      harness.append(end, key: "s1")
      let status = try harness.finished("e1")
      let summary = harness.summary
      #expect(status.isBalanced && status.pushes == 6400 && status.haltReason == "stream ended")
      #expect(status.accepted == summary.accepted && summary.duplicates == 0)
      #expect(status.cancelled > 3000)
      // Told too late.
      harness.emit("e2", occurredAt: harness.now - 600_000)
      #expect(try harness.finished("e2").pushes == 0)
      #expect(harness.stop(worker))
    }
  }
}
