import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Devices

@Suite struct AudienceWriterTests {
  @Test func seedsUsersAndShards() async throws {
    try await RedisFixture().run { redis async throws in
      let writer = AudienceWriter(
        redis: redis, keyspace: keyspace,
        options: AudienceWriterOptions(rowsPerPage: 100, followersPerFlush: 333))
      let audience = SyntheticAudience(followers: 5_000, seed: 1, topic: "com.example.live")
      try await writer.begin(streamer: "s1", expectedFollowers: 5_000)
      for index in 0..<5_000 { try await writer.append(audience.row(index)) }
      let summary = try await writer.finish()
      let totals = audience.totals()
      #expect(summary.devices == totals.devices)
      #expect(summary.followers == 5_000 && summary.shards == 4 && summary.generation == 1)
      #expect(try await redis.followers("s1") == (0..<5_000).map { "u\($0)" }.sorted())
      #expect(
        try await redis.table(keyspace.followers(of: "s1"))
          == [
            "shards": "4", "generation": "1", "followers": "5000", "last": "1", "retired": "0:1",
          ])
      for index in [0, 17, 4_999] {
        let row = audience.row(index)
        #expect(
          try await redis.members(keyspace.bindings(user: row.user))
            == row.bindings.map(\.member).sorted())
        let profile = try await redis.table(keyspace.profile(user: row.user))
        #expect(profile.count == row.profile.count)
        for (name, value) in row.profile { #expect(profile[name] == value) }
        for binding in row.bindings {
          #expect(
            try await redis.ask("GET", keyspace.tokenOwner(token: binding.token)) == row.user)
          let at = try await redis.ask("HGET", keyspace.bound(user: row.user), binding.member)
          #expect(at == String(row.boundAt))
        }
      }
    }
  }

  @Test func aSecondSeedReplacesTheFirstInOneStep() async throws {
    try await RedisFixture().run { redis async throws in
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.begin(streamer: "s1", expectedFollowers: 5_000)
      for index in 0..<10 { try await writer.append(row("old\(index)")) }
      _ = try await writer.finish()
      try await writer.begin(streamer: "s1", expectedFollowers: 1)
      try await writer.append(row("new"))
      #expect(try await redis.followers("s1").count == 10)
      let summary = try await writer.finish()
      #expect(summary.generation == 2 && summary.shards == 1 && summary.followers == 1)
      #expect(try await redis.followers("s1") == ["new"])
      let shardKeys = try await redis.keys().filter { $0.hasPrefix("ffd:{f:s1:") }
      #expect(shardKeys == ["ffd:{f:s1:2:0}"])
    }
  }

  @Test func followsDuringARewriteAreInBothGenerations() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      for index in 0..<10 { _ = try await registry.follow(streamer: "s1", user: "u\(index)") }
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.begin(streamer: "s1", expectedFollowers: 5_000)
      for index in 0..<10 { try await writer.append(row("u\(index)")) }
      _ = try await registry.follow(streamer: "s1", user: "late")
      #expect(try await redis.followers("s1").contains("late"))
      _ = try await writer.finish()
      let heading = try await redis.table(keyspace.followers(of: "s1"))
      #expect(
        heading == [
          "shards": "4", "generation": "1", "followers": "11", "last": "1", "retired": "0:1",
        ])
      #expect(try await redis.followers("s1").contains("late"))
    }
  }

  @Test func anAbandonedOrSupersededRewriteLeavesNothing() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      _ = try await registry.follow(streamer: "s1", user: "u1")
      let before = try await redis.keys()
      let first = AudienceWriter(redis: redis, keyspace: keyspace)
      try await first.begin(streamer: "s1", expectedFollowers: 1)
      try await first.append(AudienceRow(user: "x", profile: [], bindings: [], boundAt: 0))
      try await first.abandon()
      #expect(try await redis.keys() == before)
      #expect(try await redis.ask("HGET", keyspace.followers(of: "s1"), "next") == nil)

      try await first.begin(streamer: "s1", expectedFollowers: 1)
      try await first.append(AudienceRow(user: "y", profile: [], bindings: [], boundAt: 0))
      let second = AudienceWriter(redis: redis, keyspace: keyspace)
      try await second.begin(streamer: "s1", expectedFollowers: 1)
      try await second.append(AudienceRow(user: "z", profile: [], bindings: [], boundAt: 0))
      #expect(await failure { _ = try await first.finish() }?.code == .conflict)
      #expect(try await second.finish().generation == 3)
      #expect(try await redis.followers("s1") == ["z"])
      #expect(try await redis.keys().filter { $0.hasPrefix("ffd:{f:s1:") }.count == 1)
    }
  }

  @Test func aTokenBelongsToTheLastUserWhoIsNamedWithIt() async throws {
    try await RedisFixture().run { redis async throws in
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      // In one page, and back again.
      for user in ["a", "b", "a", "c"] { try await writer.append(row(user, "aa", "\(user)1")) }
      // In the next.
      try await writer.finish()
      try await writer.append(row("d", "a1"))
      // Two ids that Swift takes for one.
      try await writer.append(row("caf\u{E9}", "ee"))
      try await writer.append(row("cafe\u{301}", "ee"))
      try await writer.finish()
      #expect(try await redis.tokens("a") == [])
      #expect(try await redis.tokens("b") == ["b1"])
      #expect(try await redis.tokens("c") == ["aa", "c1"])
      #expect(try await redis.tokens("d") == ["a1"])
      #expect(try await redis.tokens("caf\u{E9}") == [])
      #expect(try await redis.tokens("cafe\u{301}") == ["ee"])
      #expect(try await redis.ask("EXISTS", keyspace.bound(user: "a")) == "0")
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "aa")) == "c")
    }
  }

  @Test func devicesAreBoundAsTheRegistryBindsThem() async throws {
    try await RedisFixture().run { redis async throws in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let (first, second) = (try binding("aa"), try binding("bb"))
      try await registry.bind(user: "a", first, at: 5_000)
      try await registry.bind(user: "a", second, at: 500)
      for member in [first.member, "apns:production:x:cc"] {
        _ = try await redis.ask("HSET", keyspace.quarantined(user: "a"), member, "BadDeviceToken")
      }
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.append(row("a", "aa", "bb", "dd"))
      try await writer.finish()
      #expect(try await redis.tokens("a") == ["aa", "bb", "dd"])
      // The youngest time stands.
      let times = try await redis.table(keyspace.bound(user: "a"))
      #expect(times[first.member] == "5000" && times[second.member] == "1000")
      #expect(times[try binding("dd").member] == "1000")
      #expect(try await redis.ask("HLEN", keyspace.quarantined(user: "a")) == "1")
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "dd")) == "a")
    }
  }

  @Test func anotherTypeIsNamedAndLeftAloneAndNoTokenIsTold() async throws {
    try await RedisFixture().run { redis async throws in
      let token = String(repeating: "ab", count: 32)
      for key in [keyspace.tokenOwner(token: token)] + keyspace.deviceKeys(user: "a") {
        _ = try await redis.ask("FLUSHALL")
        _ = try await redis.ask("LPUSH", key, "something else")
        let writer = AudienceWriter(redis: redis, keyspace: keyspace)
        let row = AudienceRow(
          user: "a", profile: [], bindings: [try binding(token)], boundAt: 1_000)
        try await writer.append(row)
        let error = await failure { try await writer.finish() }
        #expect(error?.code == .redis(.wrongType))
        #expect(error?.description.contains(token) == false)
        // The token may have its owner's name on it by then, and nothing else is written.
        let owner = keyspace.tokenOwner(token: token)
        #expect(try await redis.keys().filter { $0 != owner || key == owner } == [key])
      }
    }
  }

  /// All rows are in one page. A row that brings nothing new is written in any case.
  @Test func rowsOfAUserInOnePageAreBoundedTogether() async throws {
    try await RedisFixture().run { redis async throws in
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      func tokens(_ numbers: Range<Int>) -> [String] {
        numbers.map { String(100_000 + $0) }
      }
      for (line, range) in [0..<600, 500..<1_000, 900..<1_001, 0..<10].enumerated() {
        let bindings = try tokens(range).map { try binding($0) }
        try await writer.append(
          AudienceRow(user: "a", profile: [], bindings: bindings, boundAt: 1_000), line: line + 1)
      }
      for (line, range) in [0..<20, 10..<32, 31..<33].enumerated() {
        let profile = range.map { (name: "f\($0)", value: "x") }
        try await writer.append(
          AudienceRow(user: "b", profile: profile, bindings: [], boundAt: 1_000), line: line + 5)
      }
      let summary = try await writer.finish()
      #expect(writer.takeRefused().map(\.line) == [3, 7])
      #expect(summary.devices == 1_110)
      #expect(try await redis.tokens("a").count == 1_000)
      #expect(try await redis.ask("HLEN", keyspace.profile(user: "b")) == "32")
    }
  }

  @Test func scriptsThatRedisForgotAreSentAgain() async throws {
    try await RedisFixture().run { redis async throws in
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.append(row("a", "aa"))
      try await writer.finish()
      _ = try await redis.ask("SCRIPT", "FLUSH")
      try await writer.append(row("b", "bb"))
      try await writer.finish()
      #expect(try await redis.tokens("b") == ["bb"])
    }
  }

  @Test func aWrongRowIsRefusedAndTheOthersGoOn() async throws {
    try await RedisFixture().run { redis async throws in
      let writer = AudienceWriter(redis: redis, keyspace: keyspace)
      try await writer.begin(streamer: "s1", expectedFollowers: 2)
      try await writer.append(row("good", "aa"))
      let error = await failure { try await writer.append(row("bad}", "bb")) }
      #expect(error?.code == .invalid)
      let summary = try await writer.finish()
      #expect(summary.followers == 1)
      let tooLate = await failure {
        try await writer.begin(streamer: "s:1:2", expectedFollowers: 1)
      }
      #expect(tooLate?.code == .invalid)
    }
  }
}
