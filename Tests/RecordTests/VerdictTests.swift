import Fixtures
import Keyspace
import Model
import Redis
import Testing
import Threads

@testable import Record

/// Verdicts on tokens are written in several steps: any answer may be lost, and users bind devices
/// in between.
@Suite struct VerdictTests {
  private func bind(_ redis: RedisClient, _ id: String) async throws -> [TokenVerdict] {
    for index in 0..<3 {
      try await redis.bind("\(id)-u\(index)", "\(id)0\(index)", at: noon - 1)
    }
    try await redis.bind("\(id)-u0", "\(id)04", at: noon + 1)
    return [
      gone("\(id)-u0", "\(id)00", since: noon), gone("\(id)-u0", "\(id)04", since: noon),
      gone("\(id)-u1", "\(id)01", since: noon), unusable("\(id)-u2", "\(id)02"),
    ]
  }

  /// One answer is lost, each in its turn, and the call is repeated with the same tally.
  @Test func whatIsRepeatedCountsOnce() async throws {
    let fixture = try RedisFixture()
    var events = 0
    var lost = true
    while lost {
      let id = "e\(events)"
      let verdicts = try await fixture.run { redis async throws in try await bind(redis, id) }
      lost = try await settle(id, verdicts, losing: events + 1, port: fixture.server.port)
      try await fixture.run { redis async throws in
        let record = RecordStage(redis: redis, keyspace: keyspace)
        let status = try #require(try await record.status(of: id))
        #expect(status.pruned == 2 && status.pruneRefused == 1, "\(id)")
        #expect(status.quarantined == 1 && status.accepted == 30, "\(id)")
        for (token, owner) in [("00", nil), ("01", nil), ("02", "u2"), ("04", "u0")] {
          let known = try await redis.ask("GET", keyspace.tokenOwner(token: id + token))
          #expect(known == owner.map { "\(id)-\($0)" }, "\(id) \(token)")
        }
        let key = keyspace.verdicts(user: "\(id)-u1")
        let left = Int(try await redis.ask("TTL", key) ?? "") ?? 0
        #expect(left > 0 && left <= Keyspace.receiptLifetimeSeconds)
      }
      events += 1
    }
    #expect(events > 6)
    let count = events
    try await fixture.run { redis async throws in
      let total = try await redis.table(keyspace.statsTotal)
      #expect(total["pruned"] == String(2 * count) && total["prune_refused"] == String(count))
      #expect(total["quarantined"] == String(count))
    }
  }

  /// Settles a segment until it is settled; says whether an answer was lost.
  private func settle(
    _ id: String, _ verdicts: [TokenVerdict], losing lost: Int, port: Int
  ) async throws -> Bool {
    let answers = ThreadLock(0)
    return try await ProxiedClient.run(
      to: port,
      rewriter: { bytes in
        answers.withLock { answers in
          answers += 1
          return answers == lost ? [] : bytes
        }
      },
      { redis in
        let record = RecordStage(
          redis: redis, keyspace: keyspace, options: RecordOptions(verdictsAtOnce: 1))
        let own = tally(accepted: 30, verdicts)
        var failures = 0
        while true {
          do {
            try await record.pruneSurplus(segments(id, 1)[0], own, owner: "a", now: noon)
            _ = try await record.settle(segments(id, 1)[0], own, owner: "a", now: noon)
            return answers.withLock { $0 } >= lost
          } catch let error as RecordError {
            guard error.isTransient, failures < 20 else { throw error }
            failures += 1
          }
        }
      })
  }

  /// The user logs in again while the token's owner is being taken out.
  @Test func whoBindsATokenAgainOwnsIt() async throws {
    let fixture = try RedisFixture()
    let server = fixture.server
    try await fixture.run { redis async throws in try await redis.bind("u1", "aa", at: noon - 1) }
    let isBound = ThreadLock(false)
    try await ProxiedClient.run(
      to: server.port, commandTimeout: .seconds(30),
      rewriter: { bytes in
        // The user's script has taken the token out, and the user has it no more.
        guard bytes.starts(with: Array("*2\r\n:3\r\n:0\r\n".utf8)) else { return bytes }
        _ = try? server.cli("SADD", keyspace.bindings(user: "u1"), member("aa"))
        _ = try? server.cli("SET", keyspace.tokenOwner(token: "aa"), "u1")
        isBound.withLock { $0 = true }
        return bytes
      },
      { redis in
        let record = RecordStage(redis: redis, keyspace: keyspace)
        let own = tally(accepted: 1, [gone("u1", "aa", since: noon)])
        try await record.prune(segments("e1", 1)[0], own, now: noon)
        #expect(own.findings.pruned == 1)
      })
    #expect(isBound.withLock { $0 })
    #expect(try server.cli("GET", keyspace.tokenOwner(token: "aa")) == "u1")
  }

  /// What a run said before it settles counts then, and once; what another run says is its own.
  @Test func whatIsCountedEarlyIsNotCountedAgain() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(
        redis: redis, keyspace: keyspace, options: withoutLimit(verdictsAtOnce: 1))
      let segment = segments("e1", 1)[0]
      func verdicts(_ users: Range<Int>) async throws -> [TokenVerdict] {
        for index in users { try await redis.bind("u\(index)", "a\(index)", at: noon - 1) }
        return users.map { gone("u\($0)", "a\($0)", since: noon) }
      }
      func pruned() async throws -> Int? { try await record.status(of: "e1")?.pruned }
      let own = tally(accepted: 1, try await verdicts(0..<5))
      try await record.pruneSurplus(segment, own, owner: "a", now: noon)
      #expect(try await pruned() == 5)
      for verdict in try await verdicts(5..<9) { own.add(verdict) }
      try await record.pruneSurplus(segment, own, owner: "a", now: noon)
      #expect(try await pruned() == 9)
      // It dies, and another begins again.
      let others = tally(accepted: 1, try await verdicts(9..<13))
      try await record.pruneSurplus(segment, others, owner: "b", now: noon)
      #expect(try await pruned() == 13)
      for verdict in try await verdicts(13..<14) { others.add(verdict) }
      _ = try await record.settle(segment, others, owner: "b", now: noon)
      #expect(try await pruned() == 14)
      #expect(try await redis.table(keyspace.statsTotal)["pruned"] == "14")
      let sums = try await redis.table(keyspace.sums(id: "e1"))
      #expect(!sums.keys.contains { $0.hasPrefix(".verdicts") })
    }
  }

  /// Of those whose tokens go, and of one who has still to leave a token: their segment counts all
  /// the same, and the others' tokens go.
  @Test(arguments: [3, 0])
  func aUsersKeyOfAnotherTypeStopsNobodyElse(_ broken: Int) async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      for (user, token) in [("u1", "aa"), ("u2", "bb")] {
        try await redis.bind(user, token, at: noon)
      }
      let leaving = keyspace.tokenMoves(token: "bb")
      _ = try await redis.ask("HSET", leaving, "number", "1", ":u3", "1")
      let stranger = broken == 3 ? "u1" : "u3"
      _ = try await redis.ask("SET", keyspace.movingKeys(user: stranger)[broken], "junk")
      let settlement = try await record.settle(
        segments("e1", 1)[0],
        tally(accepted: 1, [gone("u1", "aa", since: noon), gone("u2", "bb", since: noon)]),
        now: noon)
      guard case .recorded = settlement else {
        Issue.record("\(settlement)")
        return
      }
      for (user, token) in [("u1", "aa"), ("u2", "bb")] {
        #expect(try await redis.ask("SCARD", keyspace.bindings(user: user)) == "0")
        #expect(try await redis.ask("EXISTS", keyspace.tokenOwner(token: token)) == "0")
      }
      #expect(try await redis.ask("TTL", leaving) != "-1")
    }
  }
}
