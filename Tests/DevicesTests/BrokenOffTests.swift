import Fixtures
import Keyspace
import Redis
import Testing

@testable import Devices

/// Writers that die between two steps: what they leave is taken over by who does it again.
@Suite struct BrokenOffTests {
  @Sendable private static func write(_ redis: RedisClient, _ users: [String]) async throws {
    let writer = AudienceWriter(redis: redis, keyspace: keyspace)
    // Of few users in four shards: more keys to be left behind.
    try await writer.begin(streamer: "s1", expectedFollowers: 5_000)
    for user in users {
      try await writer.append(AudienceRow(user: user, profile: [], bindings: [], boundAt: 1))
    }
    _ = try await writer.finish()
  }

  /// The followers are these, and there is no key but those of their heading and their shards.
  private func expectNothingElse(
    _ redis: RedisClient, _ users: [String], _ what: Comment
  ) async throws {
    #expect(try await redis.followers("s1") == users, what)
    let heading = try await redis.audienceHeading(of: "s1", keyspace)
    let shards = heading.shardKeys(of: "s1", keyspace)
    let left = try await redis.keys().filter { !shards.contains($0) }
    #expect(left == [keyspace.followers(of: "s1")], what)
  }

  @Test func theNextRewriteRemovesWhatADeadOneHasLeft() async throws {
    let fixture = try RedisFixture()
    let server = fixture.server
    let users = (0..<40).map { "u\($0)" }.sorted()
    var answer = 0
    var isReached = true
    while isReached {
      answer += 1
      try server.cli("FLUSHALL")
      try await fixture.run { redis in try await Self.write(redis, Array(users.dropLast(9))) }
      isReached =
        try await DyingClient.run(to: server, hearing: answer) { redis in
          try await Self.write(redis, users)
        }
        > answer
      let what: Comment = "died after \(answer) answers"
      try await fixture.run { redis async throws in
        #expect(try await redis.followers("s1").count >= 31, what)
        // Whoever follows now is in what comes of it.
        let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
        try await registry.follow(streamer: "s1", user: "new")
        let summary = try await AudienceSharding(redis: redis, keyspace: keyspace)
          .run(streamer: "s1", from: .current)
        let all = ["new"] + (summary.followers == 41 ? users : Array(users.dropLast(9)).sorted())
        try await expectNothingElse(redis, all.sorted(), what)
      }
    }
    #expect(answer > 6)
  }

  /// One that others have overtaken writes on, does not know it, and dies.
  @Test func whatAnOvertakenOneStillWritesIsRemovedToo() async throws {
    let fixture = try RedisFixture()
    try await fixture.run { redis async throws in
      try await Self.write(redis, ["a", "b"])
      let heading = try await redis.audienceHeading(of: "s1", keyspace)
      let overtaken = try #require(
        try await AudienceRewrite.begin(
          redis: redis, keyspace: keyspace, streamer: "s1", heading: heading, followers: 2,
          options: AudienceWriterOptions(followersPerFlush: 1), allowsEmpty: false))
      try await overtaken.append("a")
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.begin(streamer: "s1", expectedFollowers: 2)
      try await overtaken.append("b")
      for user in ["a", "b", "c"] {
        try await writer.append(AudienceRow(user: user, profile: [], bindings: [], boundAt: 1))
      }
      _ = try await writer.finish()
      _ = try await AudienceSharding(redis: redis, keyspace: keyspace)
        .run(streamer: "s1", from: .current)
      try await expectNothingElse(redis, ["a", "b", "c"], "overtaken")
    }
  }

  /// It comes into a shard that has just gone, and dies before it looks.
  @Test func whatALateFollowLeavesIsRemovedToo() async throws {
    let fixture = try RedisFixture()
    try await fixture.run { redis async throws in
      // Without a heading the first generation is where it writes.
      _ = try await redis.ask("SADD", "ffd:{f:s1:0:0}", "early")
      try await Self.write(redis, ["a"])
      try await expectNothingElse(redis, ["a"], "no heading")
      try await Self.write(redis, ["a", "b"])
      _ = try await redis.ask("SADD", "ffd:{f:s1:1:3}", "late")
      try await Self.write(redis, ["a", "b"])
      try await expectNothingElse(redis, ["a", "b"], "late")
    }
  }

  /// Whoever binds the token next finishes what a bind that died has begun, and what is left of it
  /// ends by itself.
  @Test(arguments: ["u1", "u2", "u3"])
  func theNextBindFinishesADeadOne(_ user: String) async throws {
    let fixture = try RedisFixture()
    let server = fixture.server
    @Sendable func bind(_ redis: RedisClient, _ user: String) async throws {
      try await DeviceRegistry(redis: redis, keyspace: keyspace)
        .bind(user: user, try binding("aa"), at: 1)
    }
    var answer = 0
    var isReached = true
    while isReached {
      answer += 1
      try server.cli("FLUSHALL")
      try await fixture.run { redis in try await bind(redis, "u1") }
      isReached =
        try await DyingClient.run(to: server, hearing: answer) { redis in
          try await bind(redis, "u2")
        } > answer
      try await fixture.run { redis in try await bind(redis, user) }
      let what: Comment = "died after \(answer) answers"
      try await fixture.run { redis async throws in
        for one in ["u1", "u2", "u3"] {
          #expect(try await redis.tokens(one) == (one == user ? ["aa"] : []), what)
        }
        #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "aa")) == user, what)
        for key in [keyspace.tokenMoves(token: "aa"), keyspace.moves(user: "u1")] {
          #expect(try await redis.ask("TTL", key) != "-1", what)
        }
        let owned = [keyspace.bindings(user: user), keyspace.bound(user: user)]
        #expect(
          try await redis.keys() == (owned + [keyspace.tokenOwner(token: "aa")]).sorted(), what)
      }
    }
    #expect(answer > 6)
  }
}
