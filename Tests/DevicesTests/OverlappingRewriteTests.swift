import Fixtures
import Keyspace
import Redis
import Testing

@testable import Devices

@Suite struct OverlappingRewriteTests {
  private static let users = (0..<5_000).map { "user-\($0)" }

  private func fill(_ fixture: RedisFixture, _ users: [String] = users) async throws {
    try await fixture.run { redis async throws in
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.begin(streamer: "s1", expectedFollowers: users.count)
      for user in users {
        try await writer.append(AudienceRow(user: user, profile: [], bindings: [], boundAt: 1))
      }
      _ = try await writer.finish()
    }
  }

  /// Divides again and again; each time it either did or was told that another did.
  private func divide(
    _ fixture: RedisFixture, followers: Int, rounds: Int
  ) async throws -> (done: Int, void: Int) {
    try await fixture.run { redis async throws in
      var counts = (done: 0, void: 0)
      for _ in 0..<rounds {
        let error = await failure {
          let summary = try await AudienceSharding(redis: redis, keyspace: keyspace)
            .run(streamer: "s1", from: .current)
          #expect(summary.followers == followers)
        }
        if let error {
          #expect(error.code == .conflict, "\(error)")
          counts.void += 1
        } else {
          counts.done += 1
        }
      }
      return counts
    }
  }

  /// A small audience, so that every step of one comes between any two steps of another.
  @Test(arguments: [(60, 300), (5_000, 30)])
  func nobodyIsLostHoweverTheyOverlap(_ followers: Int, rounds: Int) async throws {
    let fixture = try RedisFixture()
    let users = Array(Self.users.prefix(followers))
    try await fill(fixture, users)
    async let first = divide(fixture, followers: followers, rounds: rounds)
    async let second = divide(fixture, followers: followers, rounds: rounds + 17)
    async let third = divide(fixture, followers: followers, rounds: rounds + 5)
    let counts = try await [first, second, third]
    #expect(counts.contains { $0.done > 0 })
    // Else they have not overlapped, and nothing was shown.
    #expect(counts.contains { $0.void > 0 })
    try await fixture.run { redis async throws in
      #expect(try await redis.followers("s1") == users.sorted())
      let heading = try await redis.table(keyspace.followers(of: "s1"))
      #expect(heading["followers"] == String(followers) && heading["next"] == nil)
      // What was void has left nothing.
      let shards = Keyspace.recommendedShards(followers: followers)
      #expect(try await redis.keys().count { $0.hasPrefix("ffd:{f:s1:") } == shards)
    }
  }

  @Test func oneThatBeganEarlierIsVoidAndTakesNothingAway() async throws {
    let fixture = try RedisFixture()
    try await fill(fixture)
    try await fixture.run { redis async throws in
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.begin(streamer: "s1", expectedFollowers: 1)
      try await writer.append(AudienceRow(user: "x", profile: [], bindings: [], boundAt: 1))
      let summary = try await AudienceSharding(redis: redis, keyspace: keyspace)
        .run(streamer: "s1", from: .current)
      #expect(summary.followers == 5_000)
      #expect(await failure { _ = try await writer.finish() }?.code == .conflict)
      #expect(try await redis.followers("s1") == Self.users.sorted())
    }
  }

  private func begin(
    _ redis: RedisClient, _ heading: AudienceHeading
  ) async throws -> AudienceRewrite? {
    try await AudienceRewrite.begin(
      redis: redis, keyspace: keyspace, streamer: "s1", heading: heading, followers: 5_000,
      options: AudienceWriterOptions(), allowsEmpty: false)
  }

  /// Both read the same heading before either begins.
  @Test func aGenerationIsHandedOutOnce() async throws {
    let fixture = try RedisFixture()
    try await fill(fixture)
    try await fixture.run { redis async throws in
      let heading = try await redis.audienceHeading(of: "s1", keyspace)
      let first = try #require(try await begin(redis, heading))
      for user in Self.users { try await first.append(user) }
      let second = try #require(try await begin(redis, heading))
      #expect(first.generation != second.generation)
      #expect(await failure { _ = try await first.finish() }?.code == .conflict)
      for user in Self.users { try await second.append(user) }
      _ = try await second.finish()
      // A heading that was read before: the audience is another now.
      #expect(try await begin(redis, heading) == nil)
      #expect(try await redis.followers("s1") == Self.users.sorted())
    }
  }

  /// The answer to the last step can be lost: what was taken for a failure has happened.
  @Test func whatHasBecomeCurrentIsNotTakenBack() async throws {
    let fixture = try RedisFixture()
    try await fill(fixture)
    try await fixture.run { redis async throws in
      let heading = try await redis.audienceHeading(of: "s1", keyspace)
      let rewrite = try #require(try await begin(redis, heading))
      for user in Self.users { try await rewrite.append(user) }
      _ = try await rewrite.finish()
      try await rewrite.abandon()
      #expect(try await redis.followers("s1") == Self.users.sorted())
      #expect(try await rewrite.finish().followers == 5_000)
      #expect(try await redis.followers("s1") == Self.users.sorted())
    }
  }

  @Test func anAudienceDoesNotBecomeOneOfNobodyUnlessToldSo() async throws {
    let fixture = try RedisFixture()
    try await fill(fixture)
    try await fixture.run { redis async throws in
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.begin(streamer: "s1", expectedFollowers: 0)
      #expect(await failure { _ = try await writer.finish() }?.code == .invalid)
      #expect(try await redis.followers("s1").count == 5_000)
      try await writer.begin(streamer: "s1", expectedFollowers: 0, allowsEmpty: true)
      #expect(try await writer.finish().followers == 0)
      #expect(try await redis.followers("s1") == [])
      // Nobody instead of nobody is no loss.
      _ = try await AudienceSharding(redis: redis, keyspace: keyspace)
        .run(streamer: "s1", from: .current)
    }
  }

  @Test func leftoversOfADeletedHeadingDoNotComeBack() async throws {
    try await RedisFixture().run { redis async throws in
      _ = try await redis.ask("SADD", "ffd:{f:s1:1:0}", "ghost")
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.begin(streamer: "s1", expectedFollowers: 1)
      try await writer.append(AudienceRow(user: "a", profile: [], bindings: [], boundAt: 1))
      _ = try await writer.finish()
      #expect(try await redis.followers("s1") == ["a"])
    }
  }
}
