import APNsSimulator
import Devices
import Keyspace
import Record
import Redis
import Telemetry
import Testing
import World

/// Events that say whom they address, on the whole way: counters of Redis beside the simulator's
/// ledger.
@Suite struct AudienceTests {
  private static func emit(_ id: String, _ audience: String, _ harness: WorldHarness) {
    harness.emit(id, more: "\"audience\":\(audience),")
  }

  private static func tag(_ harness: WorldHarness, _ tag: String, _ users: [Int]) throws {
    let names = users.map { "s1-u\($0)" }
    let keyspace = harness.keyspace
    try harness.withRedis { redis in
      _ = try await DeviceRegistry(redis: redis, keyspace: keyspace).tag(tag, users: names)
    }
  }

  @Test func whoeverIsAddressedGetsOnePush() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: (0..<40).map(paddedHex))
      try Self.tag(harness, "even", (0..<20).map { 2 * $0 })
      try Self.tag(harness, "low", Array(0..<10))
      let worker = try harness.startWorker()
      var wanted = Array(repeating: 0, count: 40)
      for (number, (audience, users)) in [
        (#"{"tag":"low"}"#, Array(0..<10)),
        (#"{"users":["s1-u7","s1-u39","nobody"]}"#, [7, 39]),
        (#"{"or":[{"tag":"low"},{"tag":"even"}]}"#, (0..<40).filter { $0 < 10 || $0 % 2 == 0 }),
        (
          #"{"and":[{"followers":true},{"not":{"tag":"even"}},{"not":{"tag":"low"}}]}"#,
          (0..<40).filter { $0 >= 10 && $0 % 2 == 1 }
        ),
        (#"{"tag":"nobody"}"#, []),
      ].enumerated() {
        Self.emit("e\(number)", audience, harness)
        let status = try harness.finished("e\(number)")
        #expect(status.isBalanced && status.accepted == users.count, "\(audience)")
        for user in users { wanted[user] += 1 }
      }
      let reached = harness.counts(of: (0..<40).map(paddedHex)).map(\.accepted)
      #expect(reached == wanted)
      #expect(harness.stop(worker))
    }
  }

  /// More parts than one worker takes at a time, and more than the topic of usual events carries.
  @Test func aLargeSelectionIsSharedByWorkers() throws {
    try WorldHarness.live { harness in
      let users = 1_000
      harness.follow("s1", tokens: (0..<users).map(paddedHex))
      let keyspace = harness.keyspace
      try harness.withRedis { redis in
        try await Self.divide(redis, keyspace, users: users, shards: 128)
      }
      let workers = [
        try harness.startWorker(), try harness.startWorker("worker-2"),
      ]
      Self.emit("e1", #"{"and":[{"tag":"all"},{"not":{"tag":"nobody"}}]}"#, harness)
      let status = try harness.finished("e1")
      #expect(status.isBalanced && status.accepted == users && status.settled == 128)
      let summary = harness.summary
      #expect(summary.accepted == users && summary.duplicates == 0)
      for worker in workers { #expect(harness.stop(worker)) }
    }
  }

  private static func divide(
    _ redis: RedisClient, _ keyspace: Keyspace, users: Int, shards: Int
  ) async throws {
    let pipeline = RedisPipeline([
      "HSET", keyspace.ofTags.followers(of: "all"), "shards", "\(shards)", "generation", "0",
      "followers", "\(users)",
    ])
    for user in 0..<users {
      let name = "s1-u\(user)"
      let shard = Keyspace.shard(of: name, shards: shards)
      pipeline.append(
        "SADD", keyspace.ofTags.followerShard(streamer: "all", generation: 0, shard: shard), name)
    }
    _ = try await redis.execute(pipeline)
  }
}
