import Keyspace
import LocalStack
import Model
import Redis
import Rules
import Testing
import Threads

@testable import Expand

/// What rules make of a page. Each rule's edges are tested in its own room.
@Suite struct RuleTests {
  private static let noon: Int64 = 1_767_268_800_000
  private static let rules = RecipientRules(
    mutesStreamers: true,
    timeZones: TimeZones(["Asia/Tokyo": .fixed(secondsEast: 9 * 3600), "UTC": .utc]))

  private func read(
    _ users: [String], rules: RecipientRules = rules, fields: [String] = ["name", "tz"],
    _ commands: [[String]]
  ) async throws -> Reading {
    try await RedisFixture().run { redis async throws in
      try await redis.heading(1, generation: 1)
      try await redis.place(users, shards: 1)
      try await redis.equip(users)
      try await redis.commands(commands)
      return try await redis.read(
        shard(0, of: 1), fields: fields, options: ExpandOptions(rules: rules), now: Self.noon
      ).reading
    }
  }

  private func profile(_ user: String, _ fields: String...) -> [String] {
    ["HSET", keyspace.profile(user: user)] + fields
  }

  private static let people = ["awake", "asleep", "elsewhere", "mute", "mutes1", "mutes2", "none"]

  private var profiles: [[String]] {
    [
      profile("awake", "quiet", "22:00-07:00", "tz", "UTC", "name", "A"),
      profile("asleep", "quiet", "20:00-22:00", "tz", "Asia/Tokyo", "name", "B"),
      profile("elsewhere", "quiet", "11:00-13:00", "tz", "Nowhere/At_all", "name", "C"),
      profile("mute", "muted", "1", "muted_streamers", "s2"),
      profile("mutes1", "muted_streamers", "s2\ns1", "name", "D"),
      profile("mutes2", "muted_streamers", "s2", "name", "E"),
      ["SADD", keyspace.bindings(user: "asleep"), member("bb")],
    ]
  }

  @Test func eachKeepsItsOwnAndIsCounted() async throws {
    let reading = try await read(Self.people, profiles)
    #expect(reading.users.sorted() == ["awake", "mutes2", "none"])
    #expect(reading.fields["awake"] == ["A", "UTC"] && reading.fields["mutes2"] == ["E", nil])
    #expect(reading.suppressed[.muted] == 2 && reading.suppressed[.quiet] == 3)
    #expect(reading.suppressed.total == 5 && reading.followers == 7 && reading.skipped == 0)
  }

  @Test func nobodyIsKeptBySomethingThatIsOff() async throws {
    let reading = try await read(Self.people, rules: RecipientRules(), profiles)
    #expect(reading.users.count == 6 && reading.suppressed.total == 1)
    #expect(reading.fields["elsewhere"] == ["C", "Nowhere/At_all"])
  }

  @Test func aValueThatIsNoneIsSkippedAndThePushIsSent() async throws {
    let reading = try await read(
      ["bad", "long", "good"],
      [
        profile("bad", "quiet", "always", "name", "A"),
        profile("long", "quiet", String(repeating: "1", count: 5_000), "name", "B"),
        profile("good", "quiet", "", "name", "C"),
      ])
    #expect(reading.users.count == 3 && reading.skipped == 2)
    #expect(reading.fields["bad"] == ["A", nil] && reading.suppressed.total == 0)
  }

  /// What is off is not asked for.
  @Test(arguments: [
    (RecipientRules(), ["muted", "name"]),
    (RecipientRules(mutesStreamers: true), ["muted", "muted_streamers", "name"]),
    (RecipientRules(timeZones: TimeZones([:])), ["muted", "quiet", "tz", "name"]),
  ])
  func onlyWhatCountsIsRead(rules: RecipientRules, fields: [String]) async throws {
    let asked = ThreadLock<[[String]]>([])
    try await withFakeRedis({ command in
      asked.withLock { $0.append(command) }
      let isShard = command[0] == "SMEMBERS" && command[1].contains("{f:")
      return isShard ? "*1\r\n$2\r\nu1\r\n" : nil
    }) { redis async throws in
      _ = try await redis.read(
        shard(0, of: 1), fields: ["name"], options: ExpandOptions(rules: rules))
    }
    let all = asked.withLock { $0 }
    let profiles = all.filter { $0.contains(keyspace.profile(user: "u1")) }
    #expect(profiles == [["HMGET", keyspace.profile(user: "u1")] + fields])
    #expect(all.count { $0.contains { $0.contains("{u:u1}") } } == 2)
  }
}
