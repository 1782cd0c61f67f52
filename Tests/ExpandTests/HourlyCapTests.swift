import Fixtures
import Keyspace
import Model
import Redis
import Rules
import Testing
import Threads

@testable import Expand

/// How many events reach a user within an hour, on a real Redis.
@Suite struct HourlyCapTests {
  private static let rules = RecipientRules(eventsPerHour: 2)

  private static func segment(_ event: String, expiresAt: Int64 = .max) -> Segment {
    Segment(
      event: Event(
        id: event, app: app, streamer: "s1", stream: "b1", template: "go-live", occurredAt: 0,
        expiresAt: expiresAt, fields: [:], document: []),
      slice: .shard(index: 0, generation: 1), count: 1)
  }

  private func run(_ body: @Sendable (RedisClient) async throws -> Void) async throws {
    try await RedisFixture().run { redis async throws in
      try await redis.populate(["u1", "u2"])
      try await redis.commands([["SADD", keyspace.bindings(user: "u1"), member("00")]])
      try await body(redis)
    }
  }

  private static func read(
    _ redis: RedisClient, _ event: String, rules: RecipientRules = rules
  ) async throws -> Reading {
    try await redis.read(segment(event), options: ExpandOptions(rules: rules)).reading
  }

  @Test func whoHasHadEnoughIsSuppressed() async throws {
    try await run { redis in
      #expect(try await Self.read(redis, "e1").users.sorted() == ["u1", "u2"])
      #expect(try await Self.read(redis, "e2").users.count == 2)
      let third = try await Self.read(redis, "e3")
      #expect(third.users == [] && third.followers == 2 && third.skipped == 0)
      #expect(third.suppressed[.cap] == 3 && third.suppressed.total == 3)
      // With one more than that there is room for one.
      let more = RecipientRules(eventsPerHour: 3)
      #expect(try await Self.read(redis, "e4", rules: more).users.count == 2)
      #expect(try await Self.read(redis, "e5", rules: more).users == [])
    }
  }

  /// A segment that is read again, by whomever, counts nothing and is kept from nobody.
  @Test func anEventCountsOnce() async throws {
    try await run { redis in
      for event in ["e1", "e1", "e2", "e1", "e2"] {
        #expect(try await Self.read(redis, event).users.count == 2)
      }
      #expect(try await Self.read(redis, "e3").users == [])
      #expect(try await Self.read(redis, "e1").users.count == 2)
      let key = keyspace.reached(user: "u1")
      let replies = try await redis.execute(
        RedisPipeline(["ZRANGE", key, "0", "-1"], ["TTL", key]))
      #expect((0..<replies[0].count).map { replies[0][$0].text } == ["e1", "e2"])
      #expect((3_500...3_600).contains(replies[1].integer ?? 0))
    }
  }

  /// The hour ends an hour behind each event, not at the full hour.
  @Test func anHourLaterThereIsRoomAgain() async throws {
    try await run { redis in
      let time = try await redis.execute(RedisPipeline(["TIME"]))
      let now = (Int64(time[0][0].text ?? "") ?? 0) * 1000
      func had(_ user: String, _ event: String, _ secondsAgo: Int64) -> [String] {
        ["ZADD", keyspace.reached(user: user), String(now - secondsAgo * 1000), event]
      }
      try await redis.commands([
        had("u1", "old", 3_700), had("u1", "late", 1_000), had("u2", "a", 3_000),
        had("u2", "b", 1_000),
      ])
      let reading = try await Self.read(redis, "e1")
      #expect(reading.users == ["u1"] && reading.suppressed[.cap] == 1)
      let left = try await redis.execute(
        RedisPipeline(["ZRANGE", keyspace.reached(user: "u1"), "0", "-1"]))
      #expect((0..<left[0].count).map { left[0][$0].text } == ["late", "e1"])
    }
  }

  @Test func onlyWhoWouldGetItIsAsked() async throws {
    try await run { redis in
      try await redis.commands([["HSET", keyspace.profile(user: "u1"), "muted", "1"]])
      let newest = RecipientRules(picksNewestDevice: true, eventsPerHour: 1)
      let reading = try await Self.read(redis, "e1", rules: newest)
      #expect(reading.users == ["u2"] && reading.suppressed[.muted] == 2)
      try await redis.commands([["HSET", keyspace.profile(user: "u1"), "muted", "0"]])
      let second = try await Self.read(redis, "e2", rules: newest)
      #expect(second.users == ["u1"] && second.tokens["u1"] == ["00"])
      #expect(second.suppressed[.device] == 1 && second.suppressed[.cap] == 1)
    }
  }

  /// It was let through when it was tried first, whatever came between and however long ago.
  @Test func stragglersAreNeitherAskedNorCounted() async throws {
    try await run { redis in
      let none = RecipientRules(eventsPerHour: 0)
      let list = StragglerList(
        id: "e1/0~1", parent: "e1/0",
        pushes: [Straggler(user: "u2", member: member(token("u2")), history: PushHistory())])
      let segment = Segment(event: event(), slice: .stragglers(list), count: 1)
      let reading = try await redis.read(segment, options: ExpandOptions(rules: none)).reading
      #expect(reading.users == ["u2"])
      let exists = try await redis.execute(
        RedisPipeline(["EXISTS", keyspace.reached(user: "u2")]))
      #expect(exists[0].integer == 0)
    }
  }

  @Test func anEventThatIsOverCountsForNobody() async throws {
    try await run { redis in
      let reading = try await redis.read(
        Self.segment("e1", expiresAt: 5), options: ExpandOptions(rules: Self.rules), now: 5
      ).reading
      #expect(reading.users.count == 2)
      let exists = try await redis.execute(
        RedisPipeline(["EXISTS", keyspace.reached(user: "u1")]))
      #expect(exists[0].integer == 0)
    }
  }

  @Test func whereSomethingElseStandsTheUserIsNamedAndPassedOver() async throws {
    try await run { redis in
      try await redis.commands([["SET", keyspace.reached(user: "u1"), "x"]])
      let reading = try await Self.read(redis, "e1")
      #expect(reading.users == ["u2"] && reading.skipped == 1 && reading.passedOver == ["u1"])
      #expect(reading.suppressed.total == 0)
    }
  }

  @Test func aScriptThatRedisLostIsSentAgain() async throws {
    try await run { redis in
      #expect(try await Self.read(redis, "e1").users.count == 2)
      try await redis.commands([["SCRIPT", "FLUSH"]])
      #expect(try await Self.read(redis, "e2").users.count == 2)
      try await redis.commands([["SCRIPT", "FLUSH"]])
      #expect(try await Self.read(redis, "e3").suppressed[.cap] == 3)
    }
  }

  /// What Redis does not say is waited for: nobody is let through, and nobody lost.
  @Test func whatIsReadOfACancelledEventCountsForNobody() async throws {
    try await run { redis in
      let stage = ExpandStage(
        redis: redis, keyspace: keyspace, options: ExpandOptions(rules: Self.rules))
      for event in ["e1", "e2", "e3"] {
        let reader = stage.reader(
          of: stage.users(of: Self.segment(event)), fields: [], topic: app, now: { 0 },
          isOver: { true })
        let page = try #require(try await reader.next())
        #expect(page.recipients.count == 2 && page.suppressed.total == 0)
      }
      #expect(try await Self.read(redis, "right").users.count == 2)
    }
  }

  @Test(arguments: [
    "-LOADING later\r\n", "-OOM command not allowed\r\n", "-NOPERM no\r\n", "-ERR nobody knows\r\n",
    "$1\r\n1\r\n", ":2\r\n", "*0\r\n", "$-1\r\n",
  ])
  func aFailureFailsThePageWhichIsReadAgain(reply: String) async throws {
    let asked = ThreadLock(0)
    try await withFakeRedis({ command in
      if command[0] == "EVAL" {
        let number = asked.withLock { count -> Int in
          count += 1
          return count
        }
        return number == 2 ? reply : ":1\r\n"
      }
      guard command[0] == "SMEMBERS" else { return nil }
      if command[1].contains("{f:") { return "*2\r\n$2\r\nu1\r\n$2\r\nu2\r\n" }
      let device = member("aa")
      return "*1\r\n$\(device.utf8.count)\r\n\(device)\r\n"
    }) { redis async throws in
      let stage = ExpandStage(
        redis: redis, keyspace: keyspace, options: ExpandOptions(rules: Self.rules))
      let reader = stage.reader(
        of: stage.users(of: Self.segment("e1")), fields: [], topic: app)
      let error = await failure { _ = try await reader.next() }
      #expect(error.map { $0.isTransient || $0.isUncertain } == true)
      let page = try #require(try await reader.next())
      #expect(page.recipients.count == 2 && page.followers == 2)
      #expect(try await reader.next() == nil && asked.withLock { $0 } == 4)
    }
  }
}
