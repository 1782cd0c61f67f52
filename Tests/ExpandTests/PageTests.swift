import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Expand

/// What a page makes of what a user's keys hold.
@Suite struct PageTests {
  private func read(
    _ users: [String], fields: [String] = ["locale", "name"], _ commands: [[String]]
  ) async throws -> Reading {
    try await RedisFixture().run { redis async throws in
      try await redis.heading(1, generation: 1)
      try await redis.place(users, shards: 1)
      try await redis.commands(commands)
      return try await redis.read(shard(0, of: 1), fields: fields).reading
    }
  }

  @Test func devicesOfThisAppWithTheirProfile() async throws {
    let reading = try await read(
      ["u1", "u2", "u3"],
      [
        [
          "SADD", keyspace.bindings(user: "u1"), member("aa"), member("bb", environment: "sandbox"),
        ],
        ["SADD", keyspace.bindings(user: "u1"), member("cc", topic: "com.example.other")],
        ["HSET", keyspace.profile(user: "u1"), "locale", "ja", "name", "さくら", "tz", "Asia/Tokyo"],
        ["SADD", keyspace.bindings(user: "u2"), member("DDEE")],
        ["HSET", keyspace.profile(user: "u2"), "name", ""],
        ["SADD", keyspace.bindings(user: "u3"), member("ff", topic: "com.example.live.beta")],
      ])
    #expect(reading.followers == 3 && reading.skipped == 0 && reading.suppressed.total == 0)
    #expect(reading.users.sorted() == ["u1", "u2"])
    #expect(reading.tokens["u1"]?.sorted() == ["aa", "bb"])
    #expect(reading.fields["u1"] == ["ja", "さくら"])
    #expect(reading.tokens["u2"] == ["DDEE"])
    #expect(reading.fields["u2"] == [nil, ""])
  }

  @Test func environmentsAreToldApart() async throws {
    let environments = try await RedisFixture().run { redis async throws in
      try await redis.heading(1, generation: 1)
      try await redis.place(["u1"], shards: 1)
      try await redis.commands([
        ["SADD", keyspace.bindings(user: "u1"), member("aa"), member("bb", environment: "sandbox")]
      ])
      let stage = ExpandStage(redis: redis, keyspace: keyspace)
      let reader = stage.reader(of: stage.users(of: shard(0, of: 1)), fields: [], topic: app)
      let page = try #require(try await reader.next())
      return page.bindings.map { "\(page.bytes.string($0.token)) \($0.destination.name)" }.sorted()
    }
    #expect(environments == ["aa production", "bb sandbox"])
  }

  @Test func mutedUsersAreSuppressedNotListed() async throws {
    let reading = try await read(
      ["u1", "u2", "u3", "u4"],
      [
        ["SADD", keyspace.bindings(user: "u1"), member("aa"), member("bb")],
        ["HSET", keyspace.profile(user: "u1"), "muted", "1"],
        ["SADD", keyspace.bindings(user: "u2"), member("cc")],
        ["HSET", keyspace.profile(user: "u2"), "muted", "true", "name", "B"],
        ["SADD", keyspace.bindings(user: "u3"), member("dd")],
        ["HSET", keyspace.profile(user: "u3"), "muted", "0", "name", "C"],
        ["HSET", keyspace.profile(user: "u4"), "muted", "1"],
      ])
    #expect(reading.users == ["u3"] && reading.tokens == ["u3": ["dd"]])
    #expect(reading.fields["u3"] == [nil, "C"])
    #expect(reading.followers == 4 && reading.suppressed[.muted] == 3 && reading.skipped == 0)
  }

  @Test func aFieldMayBeAskedForTwiceOrBeMutedItself() async throws {
    let reading = try await read(
      ["u1"], fields: ["muted", "name", "name"],
      [
        ["SADD", keyspace.bindings(user: "u1"), member("aa")],
        ["HSET", keyspace.profile(user: "u1"), "muted", "no", "name", "A"],
      ])
    #expect(reading.fields["u1"] == ["no", "A", "A"])
  }

  @Test func whatIsNoBindingIsCountedAndSkipped() async throws {
    let hostile = [
      "", "apns", "apns:production", "apns:production:\(app)", member(""), member("a"),
      member("abc"), member("ag"), member("aa\n"), member("aa "), member("../aa"),
      member("aa:bb"), member("aa", environment: "Production"), member("aa", topic: "a b"),
      member("aa", topic: ""), member(String(repeating: "a", count: 514)), "gcm:x:y:aa",
      "apns:production:\(app):aa\r\nx: y", "\u{0}", String(repeating: "x", count: 100_000),
    ]
    let reading = try await read(
      ["u1"],
      [
        ["SADD", keyspace.bindings(user: "u1"), member(String(repeating: "b", count: 512))]
          + hostile
      ])
    #expect(reading.tokens["u1"] == [String(repeating: "b", count: 512)])
    #expect(reading.skipped == hostile.count)
  }

  @Test func otherTypesAndOddValuesDisturbNobodyElse() async throws {
    let long = String(repeating: "x", count: 4_097)
    let reading = try await read(
      ["good", "badset", "badprofile", "badboth", "long"],
      [
        ["SADD", keyspace.bindings(user: "good"), member("aa")],
        ["SET", keyspace.bindings(user: "badset"), "x"],
        ["HSET", keyspace.profile(user: "badset"), "name", "B"],
        ["SADD", keyspace.bindings(user: "badprofile"), member("cc")],
        ["LPUSH", keyspace.profile(user: "badprofile"), "x"],
        ["SET", keyspace.bindings(user: "badboth"), "x"],
        ["SET", keyspace.profile(user: "badboth"), "x"],
        ["SADD", keyspace.bindings(user: "long"), member("dd")],
        ["HSET", keyspace.profile(user: "long"), "locale", "en", "name", long],
      ])
    // Nobody knows whether "badprofile" has muted the streamer.
    #expect(reading.users.sorted() == ["good", "long"])
    #expect(reading.passedOver.sorted() == ["badboth", "badprofile", "badset"])
    let set = "ffd:{u:badset}:bindings is not a set of bindings"
    let profile = "ffd:{u:badprofile}:profile is not a hash with a profile"
    #expect(reading.reasons["badset"] == set && reading.reasons["badprofile"] == profile)
    let both = [set, profile].map {
      $0.replacing("badset", with: "badboth").replacing("badprofile", with: "badboth")
    }
    #expect(reading.reasons["badboth"] == both.joined(separator: "; "))
    #expect(reading.fields["long"] == ["en", nil])
    #expect(reading.followers == 5 && reading.skipped == 4)
  }

  @Test func membersThatAreNoUserIdsAreSkipped() async throws {
    let reading = try await read(
      ["good", "a{b}", "new\nline", "", String(repeating: "x", count: 129)],
      [["SADD", keyspace.bindings(user: "good"), member("aa")]])
    #expect(reading.users == ["good"] && reading.followers == 1 && reading.skipped == 4)
  }

  @Test func aShardOfNothingButNonsenseStillReportsIt() async throws {
    let reading = try await read(["a{b}", "c{d}"], [])
    #expect(reading.followers == 0 && reading.skipped == 2 && reading.pageSizes == [0])
  }
}
