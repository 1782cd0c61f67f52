import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Expand

/// Replies that are too large, or too slow: less is asked for, and nobody else pays for it.
@Suite struct LargeReplyTests {
  private static let users = (0..<300).map { "user-\($0)" }

  @Test func aUserWithAHugeValueIsPassedOverAndNamed() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.users)
      let huge = String(repeating: "x", count: 6 << 20)
      try await redis.commands([
        ["HSET", keyspace.profile(user: "user-7"), "name", huge],
        ["SADD", keyspace.bindings(user: "user-8"), huge],
      ])
      let (reading, _) = try await redis.read(
        shard(0, of: 1), options: ExpandOptions(pageSize: 100))
      #expect(reading.users.sorted() == Set(Self.users).subtracting(["user-7", "user-8"]).sorted())
      #expect(reading.skipped == 2 && reading.passedOver.sorted() == ["user-7", "user-8"])
    }
  }

  /// Each of them fits, all together do not, by far.
  @Test func manyUsersWithMuchEachAreReadInSmallPages() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.users)
      let name = String(repeating: "n", count: 20_000)
      try await redis.commands(
        Self.users.map { ["HSET", keyspace.profile(user: $0), "locale", "ja", "name", name] })
      var options = ExpandOptions()
      options.maximumPageBytes = 300_000
      let (reading, _) = try await redis.read(shard(0, of: 1), options: options)
      #expect(reading.users.sorted() == Self.users.sorted())
      #expect(reading.passedOver.isEmpty && reading.skipped == Self.users.count)
      #expect(reading.fields.values.allSatisfy { $0 == ["ja", nil] })
      #expect(reading.pageSizes.allSatisfy { $0 <= 14 } && reading.pageSizes.contains { $0 > 4 })
      // The connection was given up while the right size was looked for, not for each page.
      let connections = try await redis.connectionsReceived()
      #expect(connections < 15)
    }
  }

  /// What a large event's segment found out, its next one in the lane begins with.
  @Test func theSizeThatFitsIsFoundOnce() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(Self.users, shards: 2)
      let name = String(repeating: "n", count: 2_000)
      try await redis.commands(
        Self.users.map { ["HSET", keyspace.profile(user: $0), "name", name] })
      var options = ExpandOptions()
      options.maximumPageBytes = 200_000
      let stage = ExpandStage(redis: redis, keyspace: keyspace, options: options)
      let (small, _) = try await redis.read(shard(0, of: 1), stage: stage)
      let (first, _) = try await redis.read(shard(0, of: 2), stage: stage)
      let before = try await redis.connectionsReceived()
      let (second, _) = try await redis.read(shard(1, of: 2), stage: stage)
      #expect(try await redis.connectionsReceived() == before)
      #expect(small.users.sorted() == first.users.sorted())
      #expect((first.users + second.users).sorted() == Self.users.sorted())
      #expect(first.pageSizes.max() ?? 0 > 50)
      #expect(second.pageSizes.max() ?? 0 < 50)
    }
  }

  @Test func aShortPageSaysNothingOfOthersButThatTheyAreLighter() {
    let weights = UserWeights()
    weights.learn(100_000, from: 31, of: "e1")
    #expect(weights.bytes(of: "e1") == 0)
    weights.learn(300, from: 32, of: "e1")
    weights.learn(200_000, from: 1, of: "e1")
    #expect(weights.bytes(of: "e1") == 300)
    weights.learn(200, from: 1, of: "e1")
    #expect(weights.bytes(of: "e1") == 200)
  }

  @Test func anEventsUsersSayNothingOfAnothers() {
    let weights = UserWeights()
    for event in 0..<17 { weights.learn(1_000 + event, from: 512, of: "e\(event)") }
    #expect(weights.bytes(of: "e0") == 0, "it is the oldest")
    for event in 1..<17 { #expect(weights.bytes(of: "e\(event)") == 1_000 + event) }
    weights.learn(7, from: 512, of: "e1")
    #expect(weights.bytes(of: "e1") == 7 && weights.bytes(of: "e2") == 1_002)
  }

  @Test(arguments: [true, false])
  func aSetOfHugeMembersIsReadPieceByPiece(isPlain: Bool) async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.heading(1, generation: 1)
      let segment = isPlain ? plain("followers:s1") : shard(0, of: 1)
      let key =
        isPlain
        ? "followers:s1"
        : keyspace.followerShard(
          streamer: "s1", generation: 1, shard: 0)
      // Valkey's tables keep seven of them together, and scan no fewer at once.
      let huge = (0..<330).map { "\($0)" + String(repeating: "x", count: 20_000) }
      try await redis.commands([["SADD", key] + Self.users, ["SADD", key] + huge])
      try await redis.equip(Self.users)
      var options = ExpandOptions()
      options.maximumPageBytes = 400_000
      let (reading, _) = try await redis.read(segment, options: options)
      #expect(reading.users.sorted() == Self.users.sorted())
      #expect(reading.skipped == huge.count)
    }
  }

  @Test func aMemberThatNeverFitsIsAnErrorThatNamesTheKey() async throws {
    try await RedisFixture().run { redis async throws in
      let huge = String(repeating: "x", count: 3 << 20)
      try await redis.commands([["SADD", "followers:s1", huge, "user-1"]])
      let error = await failure { _ = try await redis.read(plain("followers:s1")) }
      #expect(error?.code == .badContent && error?.isTransient == false)
      #expect(error?.description.contains("followers:s1") == true)
    }
  }

  @Test func aHugeFieldOfAHeadingIsAnErrorThatNamesTheKey() async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.heading(1, generation: 2)
      let key = keyspace.followers(of: "s1")
      try await redis.commands([
        ["HSET", key, "followers", String(repeating: "9", count: 10 << 20)]
      ])
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      let errors = [
        await failure { _ = try await stage.audience(of: "s1") },
        // Its shard is gone, so the heading is looked at.
        await failure { _ = try await redis.read(shard(0, of: 1)) },
      ]
      for error in errors {
        #expect(error?.code == .badContent && error?.isTransient == false)
        #expect(error?.description.contains(key) == true)
      }
    }
  }

  @Test func aSlowRedisIsWaitedForUntilTheEventExpires() async throws {
    let fixture = try RedisFixture()
    try await fixture.run(commandTimeout: .milliseconds(100)) { redis async throws in
      try await redis.commands([["SADD", "followers:s1"] + Self.users])
      try await redis.equip(Self.users)
      let clock = Clock()
      let stage = ExpandStage(
        redis: redis, keyspace: keyspace, options: ExpandOptions(pageSize: 10))
      let followers = stage.users(of: plain("followers:s1"))
      let reader = stage.reader(of: followers, fields: [], topic: app, now: { clock.now })
      // A busy machine is slow of itself.
      var hasBegun = false
      for _ in 0..<50 where !hasBegun { hasBegun = (try? await reader.next()) != nil }
      #expect(hasBegun && followers.remembers)
      // `event()` expires at 1.
      fixture.server.freeze()
      let before = await failure { _ = try await reader.next() }
      #expect(before?.isTransient == true)
      clock.now = 1
      var last: ExpandError?
      // A connection that is not there yet is no slow Redis.
      for _ in 0..<50 where last?.code != .expired {
        fixture.server.resume()
        while !redis.isConnected { _ = try? await redis.ask("PING") }
        fixture.server.freeze()
        last = await failure { _ = try await reader.next() }
      }
      fixture.server.resume()
      #expect(last?.code == .expired && last?.isTransient == false)
      #expect(!followers.remembers)
    }
  }
}

extension RedisClient {
  fileprivate func connectionsReceived() async throws -> Int {
    let told = RedisInformation(try await ask("INFO", "stats") ?? "")
    return try #require(told["total_connections_received"].flatMap { Int($0) })
  }
}

private final class Clock { var now: Int64 = 0 }
