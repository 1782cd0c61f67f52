import APNsSimulator
import Pipeline
import Redis
import ServerProcesses
import Telemetry
import TestBed
import Testing

/// How often a lane waits for Redis before the first push of an event goes out. The pushes are
/// never answered, so that nothing is recorded of them meanwhile.
@Suite(.serialized) struct RoundTripTests {
  private static let words = ["{e:e1}", "{s:s1}", "{f:s1", "{u:s1-", "followers:s1"]

  /// A worker of one lane that has worked before: it knows the digests of its scripts.
  private func withWarmWorker(
    _ body: (WorkerBed, TurnsBed) async throws -> Void
  ) async throws {
    var script = SimulatorScript()
    script.rules = [.init(prefix: "0", steps: [.init(.silence)])]
    let bed = try await WorkerBed(redis: RedisServerProcess(), partitions: 1, script: script)
    let turns = try await TurnsBed(to: bed.redis.port)
    try await bed.follow("warm", tokens: ["f" + paddedHex(1).dropFirst()])
    let worker = try await bed.startWorker {
      $0.lanes = 1
      $0.redis = RedisOptions(port: turns.port)
      $0.expand.plainSetKey = "followers:{streamer}"
      $0.claimLifetime = .seconds(60)
      $0.deliver.requestTimeout = .seconds(600)
      $0.straggleAfter = .seconds(600)
      $0.drainTimeout = .zero
    }
    try await bed.emit("e0", streamer: "warm")
    #expect(try await bed.finished("e0").accepted == 1)
    try await body(bed, turns)
    await worker.stop()
    await turns.close()
  }

  /// What was asked of the event before its first push was there.
  private func turnsBeforeTheFirstPush(_ bed: WorkerBed, _ turns: TurnsBed) async throws -> [String]
  {
    _ = try await bed.until("the first push is there") {
      await bed.simulator.summary().requests > 1 ? true : nil
    }
    // No push waits for the watch over pauses, which asks by the clock.
    return turns.turns(naming: Self.words).filter { !$0.contains("\r\nbrake\r\n") }
  }

  @Test func anEventOfOneShardWaitsThreeTimes() async throws {
    try await withWarmWorker { bed, turns in
      try await bed.follow("s1", tokens: (0..<5).map { paddedHex($0) })
      try await bed.emit("e1")
      let asked = try await turnsBeforeTheFirstPush(bed, turns)
      #expect(asked.count == 3, "\(asked)")
      #expect(asked.first?.contains("{f:s1}") == true)
      #expect(asked.first?.contains("{s:s1}") == true)
      #expect(asked.dropFirst().first?.contains("{e:e1}:claims") == true)
      #expect(asked.last?.contains("{u:s1-u0}:profile") == true)
    }
  }

  @Test func anEventOfAPlainSetWaitsThreeTimes() async throws {
    try await withWarmWorker { bed, turns in
      try await bed.follow("s2", tokens: (0..<5).map { paddedHex($0) })
      _ = try bed.redis.cli(["SADD", "followers:s1"] + (0..<5).map { "s2-u\($0)" })
      try await bed.emit("e1")
      _ = try await bed.until("the first push is there") {
        await bed.simulator.summary().requests > 1 ? true : nil
      }
      let asked = turns.turns(naming: Self.words + ["{u:s2-"])
      #expect(asked.count == 3, "\(asked)")
    }
  }

  @Test func aSegmentOfALargeEventWaitsThreeTimes() async throws {
    try await withWarmWorker { bed, turns in
      try await bed.followInShards("s1", shards: 2, perShard: 5) { shard, index in
        paddedHex(shard << 16 | index)
      }
      let now = WallClock.nowMilliseconds()
      let document = """
        {"id":"e1","app":"\(WorkerBed.app)","streamer":{"id":"s1","name":"Aiko"},\
        "stream":{"id":"b1","title":"Speedrun night"},"template":"go-live",\
        "occurred_at":"\(WallClock.rfc3339(now))","expires_in":900}
        """
      let record = #"{"event":\#(document),"shard":0,"generation":1,"segments":2}"#
      let topic = try bed.options().ingest.segmentsTopic
      try await bed.emit(raw: Array(record.utf8), key: "e1/1.0", topic: topic)
      let asked = try await turnsBeforeTheFirstPush(bed, turns)
      #expect(asked.count == 3, "\(asked)")
    }
  }
}
