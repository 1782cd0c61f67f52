import Checkout
import Fixtures
import Keyspace
import Model
import Redis
import Testing
import Threads

@testable import Record

/// A wave of 410s: how many devices it may take, and what stays of those.
@Suite struct RemovalTests {
  private static func bindAll(_ redis: RedisClient, _ count: Int) async throws -> [TokenVerdict] {
    for index in 0..<count { try await redis.bind("u\(index)", "a\(index)", at: noon - 1) }
    return (0..<count).map { gone("u\($0)", "a\($0)", since: noon) }
  }

  private static func left(_ redis: RedisClient, _ count: Int) async throws -> Int {
    var left = 0
    for index in 0..<count {
      left += try await redis.ask("EXISTS", keyspace.bindings(user: "u\(index)")) == "1" ? 1 : 0
    }
    return left
  }

  /// The same devices in segments of all sizes, and by many lanes: each is a stage of its own.
  @Test(arguments: [1, 3, 9, 19, 228])
  func aWaveTakesFewHoweverItComes(perSegment: Int) async throws {
    try await RedisFixture().run { redis async throws in
      let verdicts = try await Self.bindAll(redis, 228)
      let lanes = (0..<16).map { _ in RecordStage(redis: redis, keyspace: keyspace) }
      var withheld = 0
      for (number, start) in stride(from: 0, to: 228, by: perSegment).enumerated() {
        let some = Array(verdicts[start..<min(start + perSegment, 228)])
        let settlement = try await lanes[number % lanes.count].settle(
          segments("e\(number)", 1)[0], tally(accepted: 0, some), now: noon)
        guard case .recorded(let settled) = settlement else { continue }
        withheld += settled.findings.pruneWithheld
      }
      let left = try await Self.left(redis, 228)
      #expect(left >= 219 && withheld == left)
      let counted = try await redis.table(keyspace.statsTotal)["prune_withheld"]
      #expect(counted == String(withheld))
    }
  }

  /// What was taken before does not cover for a wave, however much it was.
  @Test func aWaveBehindAGoodHourTakesFewToo() async throws {
    try await RedisFixture().run { redis async throws in
      let verdicts = try await Self.bindAll(redis, 228)
      let lanes = (0..<4).map { _ in RecordStage(redis: redis, keyspace: keyspace) }
      for (number, lane) in lanes.enumerated() {
        _ = try await lane.settle(
          segments("good\(number)", 1)[0], tally(accepted: 50_000), now: noon)
      }
      for (number, verdict) in verdicts.enumerated() {
        _ = try await lanes[number % lanes.count].settle(
          segments("e\(number)", 1)[0], tally(accepted: 0, [verdict]), now: noon)
      }
      #expect(try await Self.left(redis, 228) >= 190)
    }
  }

  /// A whole segment of it, behind good traffic of the same lane.
  @Test func aWaveInOneSegmentTakesNobody() async throws {
    try await RedisFixture().run { redis async throws in
      let verdicts = try await Self.bindAll(redis, 225)
      let lane = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await lane.settle(segments("good", 1)[0], tally(accepted: 3_600), now: noon)
      _ = try await lane.settle(segments("wave", 1)[0], tally(accepted: 0, verdicts), now: noon)
      #expect(try await Self.left(redis, 225) == 225)
    }
  }

  /// One of seven in a segment whose verdicts are written in several round trips.
  @Test func aLargeSegmentIsJudgedAsAWhole() async throws {
    try await RedisFixture().run { redis async throws in
      let verdicts = try await Self.bindAll(redis, 30)
      let record = RecordStage(
        redis: redis, keyspace: keyspace, options: RecordOptions(verdictsAtOnce: 8))
      let own = tally(accepted: 170, verdicts)
      try await record.prune(segments("e1", 1)[0], own, now: noon)
      #expect(own.findings.pruned == 30 && own.findings.pruneWithheld == 0)
    }
  }

  /// One of ten, event after event, is what every app has.
  @Test func fewAmongManyGoAsEver() async throws {
    try await RedisFixture().run { redis async throws in
      let verdicts = try await Self.bindAll(redis, 100)
      let lanes = (0..<2).map { _ in RecordStage(redis: redis, keyspace: keyspace) }
      for number in 0..<50 {
        let some = Array(verdicts[2 * number..<2 * number + 2])
        _ = try await lanes[number % 2].settle(
          segments("e\(number)", 1)[0], tally(accepted: 18, some), now: noon)
      }
      #expect(try await Self.left(redis, 100) == 0)
    }
  }

  @Test func anAppAndAnEnvironmentAreJudgedByThemselves() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      func removed(_ id: String, _ topic: String, _ environment: String) async throws -> Int {
        var verdicts: [TokenVerdict] = []
        for user in (0..<12).map({ "v\($0)" }) {
          let member = "apns:\(environment):\(topic):b\(user)"
          _ = try await redis.ask("SADD", keyspace.bindings(user: user), member)
          verdicts.append(
            TokenVerdict(
              user: user, member: member, finding: .gone(since: noon, reason: .unregistered)))
        }
        let own = tally(accepted: id == "good" ? 100 : 0, verdicts)
        own.topic = topic
        guard
          case .recorded(let settled) = try await record.settle(
            segments(id, 1)[0], own, now: noon)
        else { return -1 }
        return settled.findings.pruned
      }
      #expect(try await removed("e1", "com.example.live", "production") == 0)
      #expect(try await removed("good", "com.example.other", "production") == 12)
      #expect(try await removed("e2", "com.example.other", "sandbox") == 0)
      #expect(try await removed("e3", "com.example.live", "production") == 0)
    }
  }

  /// A wave of one platform's takes nobody, and does not keep another's from removing the few that
  /// are gone. What was removed is kept with all that its platform needs.
  @Test func aPlatformIsJudgedByItself() async throws {
    let keys = String(repeating: "k", count: 87) + "." + String(repeating: "s", count: 22) + ".main"
    let starts: [(Destination, String)] = [
      (.fcm, "fcm:com.example.live:"),
      (.webpush, "webpush:com.example.live:\(keys):https://push.example.com/"),
    ]
    for (destination, start) in starts {
      try await RedisFixture().run { redis async throws in
        let record = RecordStage(redis: redis, keyspace: keyspace)
        func removed(_ id: String, accepted: Int, at place: Destination) async throws -> Int {
          var verdicts: [TokenVerdict] = []
          for user in (0..<12).map({ "v\($0)" }) {
            let member = (place == destination ? start : "apns:production:com.example.live:") + user
            _ = try await redis.ask("SADD", keyspace.bindings(user: user), member)
            verdicts.append(
              TokenVerdict(
                user: user, member: member, finding: .gone(since: noon, reason: .unregistered)))
          }
          let own = tally(accepted: accepted, verdicts)
          own.topic = "com.example.live"
          if place != .production { own.wasAccepted(at: place, times: accepted) }
          let settled = try await record.settle(segments(id, 1)[0], own, now: noon)
          guard case .recorded(let settled) = settled else { return -1 }
          return settled.findings.pruned
        }
        #expect(try await removed("wave", accepted: 0, at: destination) == 0)
        #expect(try await removed("apple", accepted: 100, at: .production) == 12)
        #expect(try await removed("again", accepted: 0, at: destination) == 0)
        _ = try await redis.ask(
          "DEL", keyspace.removals(topic: "com.example.live", environment: destination.name))
        #expect(try await removed("few", accepted: 100, at: destination) == 12)
        let kept = try await redis.table(keyspace.quarantined(user: "v0"))
        #expect(kept[start + "v0"]?.contains(" pruned ") == true)
      }
    }
  }

  /// Ten answers and a fifth, each from both sides, and what is older counts half.
  @Test func limitsAreThoseThatAreSet() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let key = keyspace.removals(topic: "a.b", environment: "production")
      func may(_ removals: Int, of answers: Int) async throws -> Bool {
        try await record.mayRemove(removals, of: answers, topic: "a.b", .production)
      }
      #expect(try await may(9, of: 9))
      #expect(try await !may(1, of: 1))
      _ = try await redis.ask("DEL", key)
      #expect(try await may(2, of: 10))
      #expect(try await !may(1, of: 1))
      #expect(try await may(0, of: 10))
      #expect(try await redis.table(key)["answers"] == "21.000")
      // 3 of 21; a window later 1.5 of 10.5, and 1 of 1 is too many then.
      let since = Int64(try await redis.table(key)["since_ms"] ?? "") ?? 0
      _ = try await redis.ask("HSET", key, "since_ms", String(since - 600_000))
      #expect(try await !may(1, of: 1))
      #expect(try await redis.table(key)["answers"] == "11.500")
      _ = try await redis.ask("HSET", key, "since_ms", String(since - 6_000_000))
      #expect(try await may(1, of: 1), "too few are left")
      // Never more than a hundred are remembered.
      #expect(try await may(5, of: 10_000))
      #expect(try await redis.table(key)["answers"] == "100.000")
      let left = Int(try await redis.ask("TTL", key) ?? "") ?? 0
      #expect(left > 0 && left <= Keyspace.removalsLifetimeSeconds)
      _ = try await redis.ask("DEL", key)
      _ = try await redis.ask("SET", key, "x")
      #expect(try await !may(1, of: 1000), "nobody can count")
    }
  }

  /// Each answer of Redis is lost in its turn, and the call is repeated with the same tally: ten
  /// devices of 210 answers stay a part of them, and go.
  @Test func aRepeatedCallCountsItsAnswersOnce() async throws {
    let fixture = try RedisFixture()
    var lost = 1
    while try await Self.prune(losing: lost, fixture) { lost += 1 }
    #expect(lost > 3, "there are as many steps: \(lost)")
  }

  /// Says whether there was such an answer.
  private static func prune(losing lost: Int, _ fixture: RedisFixture) async throws -> Bool {
    let topic = "app-\(lost)"
    let verdicts = try await fixture.run { redis async throws in
      try await bindAll(redis, 10)
    }
    let answers = ThreadLock(0)
    try await ProxiedClient.run(
      to: fixture.server.port,
      rewriter: { bytes in
        answers.withLock { answers in
          answers += 1
          return answers == lost ? [] : bytes
        }
      },
      { redis in
        let record = RecordStage(redis: redis, keyspace: keyspace)
        let own = tally(accepted: 200, verdicts)
        own.topic = topic
        var failures = 0
        while !own.verdicts.isEmpty {
          do {
            try await record.prune(segments("e\(lost)", 1)[0], own, now: noon)
          } catch let error as RecordError {
            guard error.isTransient, failures < 20 else { throw error }
            failures += 1
          }
        }
        #expect(own.findings.pruned == 10 && own.findings.pruneWithheld == 0, "answer \(lost)")
      })
    try await fixture.run { redis async throws in
      let key = keyspace.removals(topic: topic, environment: "production")
      let table = try await redis.table(key)
      #expect(table["answers"] == "100.000" && table["removals"] == "4.762", "answer \(lost)")
    }
    return answers.withLock { $0 } >= lost
  }

  // MARK: what stays of a device

  @Test func whatIsPrunedIsKeptForSomeDays() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace, options: withoutLimit())
      try await redis.bind("u1", "aa", at: noon - 7)
      try await redis.bind("u1", "bb")
      let expired = TokenVerdict(
        user: "u1", member: member("bb"), finding: .gone(since: noon, reason: .expiredToken))
      _ = try await record.prune([gone("u1", "aa", since: noon), expired], source: "a", now: noon)
      let key = keyspace.quarantined(user: "u1")
      #expect(
        try await redis.table(key) == [
          member("aa"): "Unregistered \(noon) pruned \(noon - 7)",
          member("bb"): "ExpiredToken \(noon) pruned -",
        ])
      let left = Int(try await redis.ask("TTL", key) ?? "") ?? 0
      #expect(left > 0 && left <= Keyspace.prunedLifetimeSeconds)
      let moves = Int(try await redis.ask("TTL", keyspace.tokenMoves(token: "aa")) ?? "") ?? 0
      #expect(moves > Keyspace.movesLifetimeSeconds && moves <= Keyspace.prunedLifetimeSeconds)
    }
  }

  /// It stays in bounds, and does not take what was quarantined with it.
  @Test func whatIsKeptIsBounded() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace, options: withoutLimit())
      let key = keyspace.quarantined(user: "u1")
      let lifetime = Int64(Keyspace.prunedLifetimeSeconds) * 1000
      func prune(_ token: String, at now: Int64) async throws {
        try await redis.bind("u1", token, at: noon)
        _ = try await record.prune([gone("u1", token, since: now)], source: token, now: now)
      }
      for index in 0..<Keyspace.prunedMaximum + 3 {
        try await prune("a\(index)", at: noon + Int64(index))
      }
      let known = try await redis.table(key)
      #expect(known.count == Keyspace.prunedMaximum)
      #expect(known[member("a2")] == nil && known[member("a3")] != nil)
      try await redis.bind("u1", "bad", at: noon)
      _ = try await record.prune([unusable("u1", "bad")], source: "b", now: noon)
      #expect(try await redis.ask("TTL", key) == "-1")
      try await prune("late", at: noon + lifetime + 20)
      #expect(try await redis.ask("TTL", key) == "-1")
      let later = try await redis.table(key)
      #expect(later[member("a19")] == nil && later[member("a20")] != nil)
      #expect(later[member("bad")] == "BadDeviceToken \(noon) quarantined \(noon)")
    }
  }

  /// Whoever logs in with it meanwhile has it alone, also when they log out again.
  @Test func aPrunedTokenThatAnotherBindsIsNotKept() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace, options: withoutLimit())
      try await redis.bind("u1", "aa", at: noon)
      _ = try await record.prune([gone("u1", "aa", since: noon)], source: "a", now: noon)
      _ = try await redis.ask(
        "EVAL", try shippedBind(), "1", keyspace.tokenOwner(token: "aa"), "bind", "u2",
        "production", "com.example.live")
      #expect(try await redis.ask("EXISTS", keyspace.quarantined(user: "u1")) == "0")
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "aa")) == "u2")
    }
  }

  // MARK: without a usable time

  private static let day: Int64 = 86_400_000

  /// Apple's timestamp and the time of the binding; nil: the answer, or the hash, has none.
  @Test(
    arguments: [
      (0, noon), (1_795_262_400, noon), (noon + 10 * day, noon), (-1, noon),
      (noon, 1_795_262_400), (noon, 0), (noon, noon + 10 * day), (noon, nil),
    ] as [(Int64, Int64?)])
  func whereNothingShowsWhichIsYoungerTheDeviceStaysForSomeDays(
    since: Int64, boundAt: Int64?
  ) async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace, options: withoutLimit())
      try await redis.bind("u1", "aa", at: boundAt)
      if boundAt == nil {
        _ = try await redis.ask("HSET", keyspace.bound(user: "u1"), member("aa"), "yesterday")
      }
      var all = PruneFindings()
      for (number, hours) in [0, 1, 19, 20, 30, 39, 40].enumerated() {
        let now = noon + Int64(hours) * 3_600_000
        for source in ["a\(number)", "a\(number)"] {
          all.add(
            try await record.prune([gone("u1", "aa", since: since)], source: source, now: now))
        }
        let isBound = try await redis.ask("SCARD", keyspace.bindings(user: "u1")) == "1"
        #expect(isBound == (hours < 40), "\(hours)")
      }
      #expect(all.pruned == 0 && all.refused == 0 && all.undated == 12 && all.quarantined == 2)
      #expect(
        try await redis.table(keyspace.quarantined(user: "u1")) == [
          member("aa"):
            "Unregistered \(noon + 40 * 3_600_000) quarantined "
            + (boundAt.map(String.init) ?? "yesterday")
        ])
      #expect(try await redis.ask("EXISTS", keyspace.undated(user: "u1")) == "0")
    }
  }

  @Test func aDeviceThatWasBoundAgainBeginsAgain() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace, options: withoutLimit())
      func say(_ days: Int64) async throws -> PruneFindings {
        try await record.prune(
          [gone("u1", "aa", since: 0)], source: "a\(days)", now: noon + days * Self.day)
      }
      try await redis.bind("u1", "aa", at: noon - 1)
      _ = try await say(0)
      _ = try await say(1)
      try await redis.bind("u1", "aa", at: noon + 2)
      #expect(try await say(2).undated == 1)
      #expect(try await say(3).undated == 1)
      let left = Int(try await redis.ask("TTL", keyspace.undated(user: "u1")) ?? "") ?? 0
      #expect(left > 0 && left <= Keyspace.undatedLifetimeSeconds)
      #expect(try await say(4).quarantined == 1)
    }
  }
}

private func shippedBind() throws -> String { try Checkout.text("Config/redis/bind.lua") }
