import Keyspace
import Redis
import Testing

@testable import Devices

@Suite struct AudienceReportTests {
  @Test(arguments: RedisBed.Kind.allCases)
  func saysWhereFollowersStand(_ kind: RedisBed.Kind) async throws {
    try await RedisBed(kind).run { redis async throws in
      let plainSet = PlainSetPattern("followers:{streamer}")
      let reader = AudienceReader(redis: redis, keyspace: keyspace, plainSet: plainSet)
      let nobody = try await reader.report(on: "s1", sample: 5)
      #expect(nobody.place == .nowhere && nobody.followers == 0 && nobody.sample == [])
      #expect(nobody.noted == nil && nobody.shards == 0)

      let users = (0..<3_000).map { "u\($0)" }
      _ = try await redis.execute(RedisPipeline(["SADD", "followers:s1"] + users))
      let plain = try await reader.report(on: "s1", sample: 5)
      #expect(plain.place == .plain(key: "followers:s1") && plain.followers == 3_000)
      #expect(plain.sample.count == 5 && plain.hasOutgrownShards)

      _ = try await AudienceSharding(redis: redis, keyspace: keyspace)
        .run(streamer: "s1", from: .plain(key: "followers:s1"))
      _ = try await redis.ask("HSET", keyspace.followers(of: "s1"), "next", "9:4")
      let divided = try await reader.report(on: "s1", sample: 2_500)
      #expect(divided.place == .shards && divided.followers == 3_000 && divided.noted == 3_000)
      #expect(divided.shards == 2 && divided.generation == 1 && divided.comingShards == 4)
      #expect(divided.largestShard >= 1_500 && divided.largestShard < 3_000)
      #expect(!divided.hasOutgrownShards)
      // Of more than one shard, each follower once.
      #expect(divided.sample.count == 2_500 && Set(divided.sample).count == 2_500)
      #expect(Set(divided.sample).isSubset(of: users))
      #expect(try await reader.report(on: "s1").sample == [])

      #expect(await failure { _ = try await reader.report(on: "s:1:2") }?.code == .invalid)
      _ = try await redis.ask("SET", keyspace.followers(of: "s2"), "x")
      #expect(await failure { _ = try await reader.report(on: "s2") }?.code == .redis(.wrongType))
    }
  }
}
