import Fixtures
import Keyspace
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
      try await redis.populate(users)
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

  private static let newest = RecipientRules(picksNewestDevice: true)

  private func bound(_ user: String, _ times: String...) -> [String] {
    ["HSET", keyspace.bound(user: user)] + times
  }

  @Test func onlyTheDeviceBoundLastIsLeft() async throws {
    let users = ["old", "new", "tie", "none", "gone", "one", "mute"]
    let sandbox = member("bb", environment: "sandbox")
    let more = users.filter { $0 != "one" }.map {
      ["SADD", keyspace.bindings(user: $0), member("00"), sandbox]
    }
    let reading = try await read(
      users, rules: Self.newest, fields: ["name"],
      more + [
        bound("old", member(token("old")), "3", member("00"), "2", sandbox, "1"),
        bound("new", member(token("new")), "30", member("00"), "4", sandbox, "200"),
        bound("tie", member("00"), "7", sandbox, "7"),
        bound(
          "gone", member("cc"), "90", member("dd", topic: app + ".voip"), "80", sandbox, "5",
          member("00"), "x"),
        ["SADD", keyspace.bindings(user: "gone"), member("dd", topic: app + ".voip")],
        profile("mute", "muted", "1"), profile("new", "name", "N"),
      ])
    #expect(reading.tokens["old"] == [token("old")] && reading.tokens["new"] == ["bb"])
    // Production comes before the sandbox.
    #expect(reading.tokens["tie"] == ["00"] && reading.tokens["none"] == ["00"])
    #expect(reading.tokens["gone"] == ["bb"] && reading.tokens["one"] == [token("one")])
    #expect(reading.fields["new"] == ["N"] && reading.fields["tie"] == [nil])
    #expect(reading.suppressed[.device] == 10 && reading.suppressed[.muted] == 3)
    #expect(reading.followers == 7 && reading.skipped == 0)
  }

  @Test func whatIsNoHashOfTimesIsNamedAndPassedOver() async throws {
    let reading = try await read(
      ["bad", "good"], rules: Self.newest, [["SET", keyspace.bound(user: "bad"), "x"]])
    #expect(reading.users == ["good"] && reading.skipped == 1 && reading.passedOver == ["bad"])
    let reason = "ffd:{u:bad}:bound is not a hash with times of bindings"
    #expect(reading.reasons["bad"] == reason)
  }

  @Test(arguments: [
    "*1\r\n$1\r\nx\r\n", "*2\r\n$1\r\nx\r\n$-1\r\n", "$-1\r\n", "+OK\r\n", "-ERR nobody knows\r\n",
  ])
  func whatNobodyAnswersIsNoAge(reply: String) async throws {
    try await withFakeRedis({ command in
      if command[0] == "HGETALL" { return reply }
      let isShard = command[0] == "SMEMBERS" && command[1].contains("{f:")
      return isShard ? "*1\r\n$2\r\nu1\r\n" : nil
    }) { redis async throws in
      let error = await failure {
        _ = try await redis.read(shard(0, of: 1), options: ExpandOptions(rules: Self.newest))
      }
      #expect(error?.isUncertain == true && error?.message.contains("{u:u1}:bound") == true)
    }
  }

  /// A newer device has not got this event: then the user would get nothing at all.
  @Test func ofStragglersEveryDeviceStays() async throws {
    let tokens = try await RedisFixture().run { redis async throws in
      try await redis.commands([
        ["SADD", keyspace.bindings(user: "u1"), member("aa"), member("bb")],
        ["HSET", keyspace.bound(user: "u1"), member("aa"), "1", member("bb"), "2"],
      ])
      let list = StragglerList(
        id: "e1/0~1", parent: "e1/0",
        pushes: [Straggler(user: "u1", member: member("aa"), history: PushHistory())])
      let reading = try await redis.read(
        Segment(event: event(), slice: .stragglers(list), count: 1),
        options: ExpandOptions(rules: Self.newest)
      ).reading
      return reading.tokens["u1"]?.sorted()
    }
    #expect(tokens == ["aa", "bb"])
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
