import Fixtures
import Keyspace
import Model
import Testing

@testable import Record

@Suite struct PruneTests {
  @Test func aGoneTokenIsPrunedUnlessItsBindingIsYounger() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await redis.bind("older", "aa", at: noon - 1)
      try await redis.bind("equal", "bb", at: noon)
      try await redis.bind("younger", "cc", at: noon + 1)
      try await redis.bind("timeless", "dd")
      try await redis.bind("moved", "ee", at: noon - 1)
      _ = try await redis.ask("SET", keyspace.tokenOwner(token: "ee"), "another")
      let verdicts = [
        gone("older", "aa", since: noon), gone("equal", "bb", since: noon),
        gone("younger", "cc", since: noon), gone("timeless", "dd", since: noon),
        gone("moved", "ee", since: noon), gone("stranger", "ff", since: noon),
      ]
      let settlement = try await record.settle(
        segments("e1", 1)[0], tally(accepted: 100, verdicts), now: noon)
      var findings = PruneFindings()
      findings.pruned = 4
      findings.refused = 1
      guard case .recorded(let settled) = settlement else {
        Issue.record("not recorded: \(settlement)")
        return
      }
      #expect(settled.fanOutDone && settled.findings == findings && settled.recordErrors == 0)
      for (user, token) in [("older", "aa"), ("equal", "bb"), ("timeless", "dd"), ("moved", "ee")] {
        #expect(try await redis.ask("EXISTS", keyspace.bindings(user: user)) == "0", "\(user)")
        #expect(try await redis.ask("EXISTS", keyspace.bound(user: user)) == "0", "\(user)")
        let owner = try await redis.ask("GET", keyspace.tokenOwner(token: token))
        #expect(owner == (user == "moved" ? "another" : nil), "\(user)")
      }
      #expect(try await redis.ask("SCARD", keyspace.bindings(user: "younger")) == "1")
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "cc")) == "younger")
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.pruned == 4 && status.pruneRefused == 1)
      #expect(try await redis.table(keyspace.statsTotal)["pruned"] == "4")
    }
  }

  /// The answer of a script that was refused half way is not heard: what it took out would be told
  /// to nobody when the script runs again.
  @Test(arguments: ["hset", "srem", "hdel"])
  func nothingIsTakenOutThatCannotBeNoted(_ command: String) async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let tokens = ["aa", "bb"]
      for token in tokens { try await redis.bind("u1", token, at: noon - 1) }
      let verdicts = [gone("u1", "aa", since: noon), unusable("u1", "bb")]
      _ = try await redis.ask("ACL", "SETUSER", "default", "-\(command)")
      let refused = try? await record.prune(verdicts, source: "e1 0", now: noon)
      #expect(refused == nil)
      _ = try await redis.ask("ACL", "SETUSER", "default", "+@all")
      #expect(try await redis.ask("SCARD", keyspace.bindings(user: "u1")) == "2")
      let findings = try await record.prune(verdicts, source: "e1 0", now: noon)
      #expect(findings.pruned == 1 && findings.quarantined == 1)
      #expect(try await redis.ask("EXISTS", keyspace.bindings(user: "u1")) == "0")
    }
  }

  /// To Swift their ids are one text; to Redis they are two users.
  @Test func tokensOfUsersWhoseIdsAreCanonicallyEquivalentAreAllPruned() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let users = ["jos\u{E9}", "jose\u{301}"]
      for (user, token) in zip(users, ["aa", "bb"]) {
        try await redis.bind(user, token, at: noon - 1)
      }
      let findings = try await record.prune(
        zip(users, ["aa", "bb"]).map { gone($0, $1, since: noon) }, source: "e1 0", now: noon)
      #expect(findings.pruned == 2)
      for (user, token) in zip(users, ["aa", "bb"]) {
        #expect(try await redis.ask("EXISTS", keyspace.bindings(user: user)) == "0")
        #expect(try await redis.ask("GET", keyspace.tokenOwner(token: token)) == nil)
      }
    }
  }

  @Test func aTokenStaysItsOwnersWhileAnotherAppOfTheirsHasIt() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await redis.bind("u1", "aa", at: noon - 1)
      _ = try await redis.ask(
        "SADD", keyspace.bindings(user: "u1"), "apns:production:com.example.other:aa")
      _ = try await record.settle(
        segments("e1", 1)[0], tally(accepted: 1, [gone("u1", "aa", since: noon)]), now: noon)
      #expect(try await redis.ask("SCARD", keyspace.bindings(user: "u1")) == "1")
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "aa")) == "u1")
    }
  }

  @Test func unusableTokensAreSetAsideNotDeleted() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      // Given back, it has the time of its binding: an older 410 does not remove it.
      try await redis.bind("u1", "aa", at: noon - 5)
      _ = try await record.settle(
        segments("e1", 1)[0], tally(accepted: 20, [unusable("u1", "aa")]), now: noon)
      #expect(try await redis.ask("EXISTS", keyspace.bindings(user: "u1")) == "0")
      #expect(try await redis.ask("EXISTS", keyspace.bound(user: "u1")) == "0")
      #expect(
        try await redis.table(keyspace.quarantined(user: "u1")) == [
          member("aa"): "BadDeviceToken \(noon) quarantined \(noon - 5)"
        ])
      #expect(try await record.status(of: "e1")?.quarantined == 1)
    }
  }

  @Test(arguments: [(1, 0, 0), (1, 19, 0), (1, 20, 1), (20, 80, 20), (20, 79, 0), (400, 100, 0)])
  func tooManyUnusableTokensAreOurMistake(unusables: Int, accepted: Int, wanted: Int) async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      var verdicts: [TokenVerdict] = []
      for index in 0..<unusables {
        try await redis.bind("u\(index)", "a\(index)", at: noon)
        verdicts.append(unusable("u\(index)", "a\(index)"))
      }
      let settlement = try await record.settle(
        segments("e1", 1)[0], tally(accepted: accepted, verdicts), now: noon)
      guard case .recorded(let settled) = settlement else {
        Issue.record("not recorded: \(settlement)")
        return
      }
      #expect(settled.findings.quarantined == wanted)
      #expect(settled.findings.withheld == (wanted == 0 ? unusables : 0))
      #expect(
        try await redis.ask("EXISTS", keyspace.bindings(user: "u0")) == (wanted == 0 ? "1" : "0"))
      let withheld = try await redis.table(keyspace.event(id: "e1"))["quarantine_withheld"]
      #expect(withheld == (wanted == 0 ? String(unusables) : nil))
    }
  }

  /// A voip token that is refused proves nothing against an app's alerts, and they nothing for it.
  @Test func whatAppleTakesOfAnotherTopicIsNoEvidence() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await redis.bind("u1", "aa", at: noon)
      var withheld: [Int] = []
      for (id, topic, accepted) in [
        ("e1", "com.example.live", 100), ("e2", "com.example.live.voip", 0),
        ("e3", "com.example.live", 0),
      ] {
        let token = accepted > 0 ? "bb" : "aa"
        let tally = tally(accepted: accepted, [unusable("u1", token)])
        tally.topic = topic
        guard
          case .recorded(let settled) = try await record.settle(
            segments(id, 1)[0], tally, now: noon)
        else { continue }
        withheld.append(settled.findings.withheld)
      }
      #expect(withheld == [0, 1, 0])
    }
  }

  /// Forty streamers of fifteen devices each, bound with the wrong environment: no segment is large
  /// enough to look wrong by itself.
  @Test func aWrongEnvironmentRemovesNothingHoweverSmallTheSegments() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      for streamer in 0..<40 {
        var verdicts: [TokenVerdict] = []
        for device in 0..<15 {
          try await redis.bind("s\(streamer)-u\(device)", "a\(device)", at: noon)
          verdicts.append(unusable("s\(streamer)-u\(device)", "a\(device)"))
        }
        // The sandbox takes what it is sent: that says nothing of production.
        let own = tally(accepted: 0, verdicts)
        own.count(.accepted, times: 100)
        own.wasAccepted(at: .sandbox, times: 100)
        _ = try await record.settle(
          segments("e\(streamer)", 1)[0], own, now: noon + Int64(streamer))
      }
      for streamer in 0..<40 {
        for device in 0..<15 {
          let key = keyspace.bindings(user: "s\(streamer)-u\(device)")
          #expect(try await redis.ask("SCARD", key) == "1", "\(key)")
        }
      }
      #expect(try await redis.table(keyspace.statsTotal)["quarantine_withheld"] == "600")
    }
  }

  @Test func aSettleThatIsRepeatedCountsWhatWasRefusedOnce() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(
        redis: redis, keyspace: keyspace, options: withoutLimit(verdictsAtOnce: 4))
      var verdicts: [TokenVerdict] = []
      for index in 0..<10 {
        try await redis.bind("u\(index)", "a\(index)", at: noon + 5)
        verdicts.append(gone("u\(index)", "a\(index)", since: noon))
      }
      // A worker that dies after its first scripts, and another that does it all.
      try await record.prune(segments("e1", 1)[0], tally(accepted: 10, verdicts), now: noon)
      _ = try await record.settle(
        segments("e1", 1)[0], tally(accepted: 10, verdicts), now: noon)
      _ = try await record.settle(
        segments("e1", 1)[0], tally(accepted: 10, verdicts), now: noon)
      #expect(try await record.status(of: "e1")?.pruneRefused == 10)
      #expect(try await redis.table(keyspace.statsTotal)["prune_refused"] == "10")
    }
  }

  @Test func manyVerdictsGoInSeveralScriptsAndCountOnce() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(
        redis: redis, keyspace: keyspace, options: withoutLimit(verdictsAtOnce: 16))
      var verdicts: [TokenVerdict] = []
      for index in 0..<100 {
        try await redis.bind("u\(index)", "a\(index)", at: noon - 5)
        verdicts.append(gone("u\(index)", "a\(index)", since: noon))
      }
      let own = tally(accepted: 10, verdicts.dropLast(70))
      try await record.prune(segments("e1", 1)[0], own, now: noon)
      #expect(own.findings.pruned == 30 && own.verdicts.isEmpty)
      for verdict in verdicts.suffix(70) { own.add(verdict) }
      let settlement = try await record.settle(segments("e1", 1)[0], own, now: noon)
      guard case .recorded(let settled) = settlement else {
        Issue.record("not recorded: \(settlement)")
        return
      }
      #expect(settled.findings.pruned == 100)
      #expect(try await record.status(of: "e1")?.pruned == 100)
      // The same verdicts once more, as a second worker would bring them after a crash.
      _ = try await record.settle(
        segments("e1", 1)[0], tally(accepted: 10, verdicts), now: noon)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.pruned == 100 && status.accepted == 10)
    }
  }

  /// `x:one` and `y:one` end alike, and are two tokens.
  @Test func aGoneTokenWithColonsIsReleased() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let members = ["x:one", "y:one"].map { "toy:a.b:\($0)" }
      for member in members {
        _ = try await redis.ask("SADD", keyspace.bindings(user: "u"), member)
        _ = try await redis.ask(
          "SET", keyspace.tokenOwner(token: Binding.token(ofMember: member)), "u")
      }
      let gone = TokenVerdict(
        user: "u", member: members[0], finding: .gone(since: noon, reason: .unregistered))
      #expect(try await record.prune([gone], source: "e1 0", now: noon).pruned == 1)
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "x:one")) == nil)
      #expect(try await redis.ask("GET", keyspace.tokenOwner(token: "y:one")) == "u")
    }
  }
}
