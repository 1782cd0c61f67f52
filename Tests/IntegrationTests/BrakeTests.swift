import APNsSimulator
import Model
import Pipeline
import Record
import Telemetry
import TestBed
import Testing

/// Somebody pauses a fan-out, lets it go on, cancels it.
@Suite(.serialized) struct BrakeTests {
  /// A server that takes some hundred pushes a second.
  private static var slow: SimulatorScript {
    var script = SimulatorScript()
    script.latency = .milliseconds(100)
    script.streams = 10
    return script
  }

  private static func order(_ brake: Brake?, _ event: String, _ bed: WorkerBed) async throws {
    let keyspace = bed.keyspace
    let result = try await bed.withRedis { redis in
      try await RecordStage(redis: redis, keyspace: keyspace)
        .setBrake(brake, of: event, reason: "test", now: 1)
    }
    #expect(result == .done)
  }

  private static func startWorker(_ bed: WorkerBed) async throws -> Worker {
    let worker = try await bed.startWorker {
      $0.straggleAfter = .milliseconds(500)
      $0.straggleDelay = .milliseconds(500)
      $0.heartbeatInterval = .milliseconds(20)
    }
    try await bed.ready()
    return worker
  }

  private static func hasAccepted(_ count: Int, _ bed: WorkerBed) async throws {
    _ = try await bed.until("\(count) are accepted") {
      await bed.simulator.summary().accepted >= count ? true : nil
    }
  }

  /// None of its pushes is answered, and it is the first that an operator wants to see.
  @Test func whatHangsIsKnown() async throws {
    var script = SimulatorScript()
    script.rules = [.init(prefix: "0", steps: [.init(.silence)])]
    let bed = try await WorkerBed(script: script)
    try await bed.follow("s1", tokens: [paddedHex(1)])
    let worker = try await bed.startWorker {
      $0.deliver.requestTimeout = .seconds(600)
      $0.straggleAfter = .seconds(600)
      $0.drainTimeout = .zero
    }
    try await bed.emit("e1")
    let keyspace = bed.keyspace
    let known = try await bed.until("it is in the list") {
      try await bed.withRedis { redis in
        try await RecordStage(redis: redis, keyspace: keyspace).recentFanOuts(atMost: 5).first
      }
    }
    #expect(known.event == "e1" && known.status.state == .running && known.status.settled == 0)
    #expect(try bed.redis.cli("HGET", "ff:{stats}:total", "events") == "1")
    await worker.stop()
  }

  /// Segments that are under way, and such that nobody has begun.
  @Test func whatIsCancelledIsSentNoMore() async throws {
    let bed = try await WorkerBed(script: Self.slow)
    try await bed.followInShards("s1", shards: 32, perShard: 200) { paddedHex($0 << 16 | $1) }
    let worker = try await Self.startWorker(bed)
    try await bed.emit("e1")
    try await Self.hasAccepted(100, bed)
    try await Self.order(.cancelled, "e1", bed)
    let status = try await bed.finished("e1")
    let summary = await bed.simulator.summary()
    #expect(status.state == .done && status.isBalanced && status.brake == .cancelled)
    #expect(status.pushes == 6400 && status.recipients == 6400)
    #expect(status.accepted == summary.accepted && summary.duplicates == 0)
    #expect(status.cancelled == 6400 - summary.accepted && status.cancelled > 3000)
    // Another event of the same streamer is not stopped.
    try await bed.follow("s2", tokens: [paddedHex(1)])
    try await bed.emit("e2", streamer: "s2")
    #expect(try await bed.finished("e2").accepted == 1)
    #expect(await worker.stop())
  }

  /// The lane has nothing else to do, and so still knows the fan-out as it was before.
  @Test func theOnlySegmentGoesOnAsSoonAsItMay() async throws {
    let bed = try await WorkerBed(script: Self.slow)
    try await bed.followInShards("s1", shards: 1, perShard: 400) { paddedHex($0 << 16 | $1) }
    let worker = try await bed.startWorker {
      $0.lanes = 1
      $0.straggleAfter = .milliseconds(500)
      $0.straggleDelay = .milliseconds(500)
    }
    try await bed.ready()
    try await bed.emit("e1")
    try await Self.hasAccepted(20, bed)
    try await Self.order(.paused, "e1", bed)
    let lists = try await bed.until("all of it has left") {
      try await bed.status("e1").flatMap { $0.waiting > 0 ? $0.stragglers : nil }
    }
    try await Self.order(nil, "e1", bed)
    let status = try await bed.finished("e1")
    #expect(status.accepted == 400 && status.isBalanced)
    #expect(status.stragglers == lists, "what goes on is written no more")
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(await worker.stop())
  }

  /// The backend says that the stream is over, and later that the streamer is live again.
  @Test func theEndOfAStreamCancelsWhatToldOfIt() async throws {
    let bed = try await WorkerBed(script: Self.slow)
    try await bed.followInShards("s1", shards: 32, perShard: 200) { paddedHex($0 << 16 | $1) }
    let worker = try await Self.startWorker(bed)
    try await bed.emit("e1")
    try await Self.hasAccepted(100, bed)
    let now = WallClock.rfc3339(WallClock.nowMilliseconds())
    let end = """
      {"type":"stream.ended","streamer":{"id":"s1"},"stream":{"id":"b1"},"occurred_at":"\(now)"}
      """
    try await bed.emit(raw: Array(end.utf8), key: "s1")
    let status = try await bed.finished("e1")
    let summary = await bed.simulator.summary()
    #expect(status.isBalanced && status.pushes == 6400 && status.brakeReason == "stream ended")
    #expect(status.accepted == summary.accepted && summary.duplicates == 0)
    #expect(status.cancelled > 3000)
    // Told too late.
    try await bed.emit("e2", occurredAt: WallClock.nowMilliseconds() - 600_000)
    #expect(try await bed.finished("e2").pushes == 0)
    #expect(await worker.stop())
  }
}
