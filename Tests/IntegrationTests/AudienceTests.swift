import APNsSimulator
import Devices
import Keyspace
import Record
import Redis
import Telemetry
import TestBed
import Testing

/// Events that say whom they address, on the whole way: counters of Redis beside the simulator's
/// ledger.
@Suite(.serialized) struct AudienceTests {
  private static func event(_ id: String, _ audience: String) -> [UInt8] {
    Array(
      """
      {"id":"\(id)","app":"\(WorkerBed.app)","streamer":{"id":"s1","name":"Aiko"},\
      "stream":{"id":"b1","title":"Speedrun night"},"audience":\(audience),\
      "occurred_at":"\(WallClock.rfc3339(WallClock.nowMilliseconds()))"}
      """.utf8)
  }

  private static func tag(_ bed: WorkerBed, _ tag: String, _ users: [Int]) async throws {
    let names = users.map { "s1-u\($0)" }
    let keyspace = bed.keyspace
    try await bed.withRedis { redis in
      _ = try await DeviceRegistry(redis: redis, keyspace: keyspace).tag(tag, users: names)
    }
  }

  @Test func whoeverIsAddressedGetsOnePush() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: (0..<40).map(paddedHex))
    try await Self.tag(bed, "even", (0..<20).map { 2 * $0 })
    try await Self.tag(bed, "low", Array(0..<10))
    let worker = try await bed.startWorker()
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
      try await bed.emit(raw: Self.event("e\(number)", audience), key: "s1")
      let status = try await bed.finished("e\(number)")
      #expect(status.isBalanced && status.accepted == users.count, "\(audience)")
      for user in users { wanted[user] += 1 }
    }
    let reached = await bed.simulator.counts(of: (0..<40).map(paddedHex)).map(\.accepted)
    #expect(reached == wanted)
    #expect(await worker.stop())
  }

  /// More parts than one worker takes at a time, and more than the topic of usual events carries.
  @Test func aLargeSelectionIsSharedByWorkers() async throws {
    let bed = try await WorkerBed()
    let users = 3_000
    try await bed.follow("s1", tokens: (0..<users).map(paddedHex))
    let keyspace = bed.keyspace
    try await bed.withRedis { redis in
      try await Self.divide(redis, keyspace, users: users, shards: 128)
    }
    let workers = [
      try await bed.startWorker(), try await bed.startWorker { $0.workerID = "worker-2" },
    ]
    try await bed.emit(
      raw: Self.event("e1", #"{"and":[{"tag":"all"},{"not":{"tag":"nobody"}}]}"#), key: "s1")
    let status = try await bed.finished("e1")
    #expect(status.isBalanced && status.accepted == users && status.settled == 128)
    let summary = await bed.simulator.summary()
    #expect(summary.accepted == users && summary.duplicates == 0)
    for worker in workers { #expect(await worker.stop()) }
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
