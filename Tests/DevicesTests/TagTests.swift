import Fixtures
import Keyspace
import Redis
import Testing

@testable import Devices

@Suite struct TagTests {
  @Test(arguments: RedisBed.Kind.allCases)
  func usersGetAndLoseATag(_ kind: RedisBed.Kind) async throws {
    try await RedisBed(kind).run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let tags = AudienceReader(redis: redis, keyspace: keyspace.ofTags)
      #expect(try await registry.tag("beta", users: ["u1", "u2", "u1"]) == 2)
      #expect(try await registry.tag("beta", users: ["u2", "u3"]) == 1)
      #expect(try await registry.tag("beta", users: ["u1", "u9"], isOn: false) == 1)
      #expect(try await registry.tag("beta", users: []) == 0)
      let report = try await tags.report(on: "beta", sample: 9)
      #expect(report.sample.sorted() == ["u2", "u3"] && report.noted == 2)
      // It is nobody's streamer.
      #expect(try await redis.followers("beta") == [])
      #expect(try await tags.report(on: "gamma").place == .nowhere)
      for tag in ["", "a{", "a:1:2"] {
        #expect(await failure { try await registry.tag(tag, users: ["u1"]) }?.code == .invalid)
      }
      #expect(await failure { try await registry.tag("beta", users: ["a}"]) }?.code == .invalid)
    }
  }

  @Test func aTagIsDividedAsFollowersAre() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let users = (0..<5000).map { "u\($0)" }
      for start in stride(from: 0, to: users.count, by: DeviceRegistry.maximumTagged) {
        try await registry.tag(
          "beta", users: Array(users[start..<start + DeviceRegistry.maximumTagged]))
      }
      let summary = try await AudienceSharding(redis: redis, keyspace: keyspace.ofTags)
        .run(streamer: "beta", from: .current)
      #expect(summary.followers == 5000 && summary.shards == 4)
      #expect(try await registry.tag("beta", users: ["u1", "new"]) == 1)
      let report = try await AudienceReader(redis: redis, keyspace: keyspace.ofTags)
        .report(on: "beta")
      #expect(report.followers == 5001 && report.shards == 4 && report.noted == 5001)
    }
  }
}
