import Fixtures
import Keyspace
import Model
import Redis
import Testing
import Threads

@testable import Record

/// What the statistics say is what the events say together, whoever dies, and however often they
/// are told.
@Suite struct SumTests {
  private static let fields = [
    "recipients", "pushes", "accepted", "rejected", "rejected:BadTopic", "stragglers", "retried",
  ]

  /// What one event does from its beginning to its end.
  private static func run(_ id: String, _ record: RecordStage) async throws {
    let segments = segments(id, 2)
    let list = segments[0].straggling(
      [Straggler(user: "u1", member: member("aa"), history: PushHistory())], number: 1)
    _ = try await record.open(
      event: event(id), audience: sharded(2), source: "t/0/\(id)", now: noon)
    try await record.handOver(id, now: noon)
    for segment in segments + [list] {
      let claim = Claim(segment: segment, owner: id)
      _ = try await record.claim(claim, lifetime: .seconds(60))
      let own = tally(accepted: 3)
      own.pushes += 2
      own.retried = 1
      own.count(.rejected(.badTopic), times: 2)
      _ = try await record.settle(
        segment, own, stragglers: segment == segments[0] ? [PlannedStragglers(list)] : [],
        owner: id, now: noon)
    }
    // Kafka delivers its record once more, and another record brings the same event.
    for source in ["t/0/\(id)", "t/1/\(id)"] {
      _ = try await record.open(
        event: event(id), audience: sharded(2), source: source, now: noon)
    }
  }

  /// That the statistics are those of so many events that ran to their end.
  private func expectSums(_ redis: RedisClient, of events: [String]) async throws {
    let record = RecordStage(redis: redis, keyspace: keyspace)
    var wanted = [
      "events": events.count, "events_done": events.count, "events_duplicate": events.count,
      "segments": 3 * events.count,
    ]
    for event in events {
      let status = try #require(try await record.status(of: event))
      #expect(status.state == .done && status.accepted == 9 && status.isBalanced, "\(event)")
      for field in Self.fields { wanted[field, default: 0] += status.numbers[field] ?? 0 }
    }
    for key in [
      keyspace.statsTotal, keyspace.statsDay(milliseconds: noon),
      keyspace.statsMinute(milliseconds: noon),
    ] {
      #expect(try await redis.table(key).compactMapValues { Int($0) } == wanted, "\(key)")
    }
    for stream in [keyspace.statsEvents, keyspace.statsFanOuts] {
      #expect(try await redis.ask("XLEN", stream) == String(events.count), "\(stream)")
    }
  }

  /// A worker dies once Redis has done so many of the things that it was asked for, and another one
  /// reads the records again: at each step.
  @Test func aWorkerMayDieAtEachStep() async throws {
    let fixture = try RedisFixture()
    var events: [String] = []
    var lived = false
    while !lived {
      let id = "e\(events.count)"
      events.append(id)
      lived = try await hasLived(id, answers: events.count, port: fixture.server.port)
      try await fixture.run { redis async throws in
        try await Self.run(id, RecordStage(redis: redis, keyspace: keyspace))
      }
    }
    // Each step of each script, and more that are those of the connection.
    #expect(events.count > 12)
    let all = events
    try await fixture.run { redis async throws in try await expectSums(redis, of: all) }
  }

  /// Runs an event, but hears no more than so many answers. Says whether those were enough.
  private func hasLived(_ id: String, answers: Int, port: Int) async throws -> Bool {
    let left = ThreadLock(answers)
    do {
      try await ProxiedClient.run(
        to: port,
        rewriter: { bytes in
          left.withLock { left in
            left -= 1
            return left >= 0 ? bytes : []
          }
        },
        { redis in try await Self.run(id, RecordStage(redis: redis, keyspace: keyspace)) })
      return true
    } catch is RecordError {
      return false
    }
  }

  /// Two workers settle the same segments at the same time, and bring the same sums.
  @Test func manyMayBringThemAtTheSameTime() async throws {
    let fixture = try RedisFixture()
    let events = (0..<10).map { "e\($0)" }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          try await fixture.run { redis async throws in
            let record = RecordStage(redis: redis, keyspace: keyspace)
            for id in events { try await Self.run(id, record) }
          }
        }
      }
      try await group.waitForAll()
    }
    try await fixture.run { redis async throws in
      try await expectSums(redis, of: events)
      let record = RecordStage(redis: redis, keyspace: keyspace)
      for id in events { try await record.handOver(id, now: noon + 86_400_000) }
      try await expectSums(redis, of: events)
    }
  }

  /// Nobody has told the statistics of a segment, and its record comes again: whatever is asked of
  /// it then, they are told.
  @Test func whoFindsASegmentSettledTellsThem() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segment = segments("e1", 1)[0]
      let list = segment.straggling([], number: 1)
      let claim = Claim(segment: segment, owner: "b")
      func open(_ source: String) async throws {
        _ = try await record.open(
          event: event("e1"), audience: sharded(1), source: source, claim: claim,
          lifetime: .seconds(60), now: noon)
      }
      func settle(_ owner: String) async throws {
        _ = try await record.settle(
          segment, tally(accepted: 5), stragglers: [PlannedStragglers(list)], owner: owner,
          now: noon)
      }
      func expectTold(_ what: String, _ ask: () async throws -> Void) async throws {
        _ = try await redis.ask(
          "DEL", keyspace.statsTotal, keyspace.statsEvents, keyspace.statsFanOuts,
          keyspace.statsSums(event: "e1"))
        try await ask()
        let total = try await redis.table(keyspace.statsTotal)
        #expect(total["accepted"] == "5" && total["stragglers"] == "1", "\(what)")
        #expect(try await redis.ask("XLEN", keyspace.statsFanOuts) == "1", "\(what)")
      }
      try await open("t/0/1")
      try await settle("a")
      try await expectTold("its owner") { try await settle("a") }
      try await expectTold("another") { try await settle("b") }
      try await expectTold("a claim") {
        let found = try await record.claim(claim, lifetime: .seconds(60))
        #expect(found == .settled)
      }
      try await expectTold("its event") { try await open("t/0/1") }
      try await expectTold("a repetition of its event") { try await open("t/0/2") }
      try await expectTold("a dead letter") {
        _ = try await record.noteDeadLetter(
          of: .segment(segment), event("e1"), code: "x", source: "t/0/3", now: noon)
      }
      _ = try await record.settle(list, tally(accepted: 0), now: noon)
      try await expectTold("its event, which is done") { try await open("t/0/1") }
      try await expectTold("its event, which has expired") {
        _ = try await record.expire(event: event("e1"), source: "t/0/1", now: noon)
      }
      #expect(try await redis.ask("XLEN", keyspace.statsEvents) == "1")
    }
  }

  /// Sums that come after later ones change nothing, and what has begun again counts from zero.
  @Test func sumsOfAnEventThatRedisHasLostAreToldApart() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segments = segments("e1", 3)
      func accepted() async throws -> String? {
        try await redis.table(keyspace.statsTotal)["accepted"]
      }
      func sums() async throws -> RedisReply {
        try await record.execute(["HGETALL", keyspace.sums(id: "e1")])
      }
      _ = try await record.settle(segments[0], tally(accepted: 5), now: noon)
      let early = try await sums()
      _ = try await record.settle(segments[1], tally(accepted: 5), now: noon)
      try await record.add(early, of: "e1", now: noon)
      #expect(try await accepted() == "10")
      let old = try await sums()
      // Another master takes over, which has not heard of the second segment.
      _ = try await redis.ask("HSET", keyspace.sums(id: "e1"), "accepted", "5")
      try await record.handOver("e1", now: noon)
      #expect(try await accepted() == "10")
      _ = try await redis.ask(
        "DEL", keyspace.sums(id: "e1"), keyspace.event(id: "e1"), keyspace.settled(id: "e1"))
      _ = try await record.settle(segments[2], tally(accepted: 2), now: noon)
      #expect(try await accepted() == "12")
      try await record.add(old, of: "e1", now: noon)
      try await record.handOver("e1", now: noon)
      #expect(try await accepted() == "12")
    }
  }

  @Test func aKeyOfAnotherTypeHoldsNothingUp() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await redis.ask("SET", keyspace.statsSums(event: "e1"), "no hash")
      guard
        case .recorded(let settled) = try await record.settle(
          segments("e1", 1)[0], tally(accepted: 5), now: noon)
      else {
        Issue.record("not recorded")
        return
      }
      #expect(settled.recordErrors == 1)
      #expect(try await record.status(of: "e1")?.recordErrors == 1)
      #expect(try await redis.table(keyspace.statsTotal) == ["record_errors": "1"])
    }
  }

  /// Redis is full: what the statistics do not get now they get when it is not any more.
  @Test func aFullRedisGetsThemLater() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await record.open(
        event: event("e1"), audience: sharded(1), source: "t/0/1", now: noon)
      _ = try await redis.ask("CONFIG", "SET", "maxmemory", "1")
      do {
        try await record.handOver("e1", now: noon)
        Issue.record("a full Redis took them")
      } catch let error as RecordError {
        #expect(error.isTransient, "\(error)")
      }
      #expect(try await redis.table(keyspace.statsTotal) == [:])
      _ = try await redis.ask("CONFIG", "SET", "maxmemory", "0")
      try await record.handOver("e1", now: noon)
      #expect(try await redis.table(keyspace.statsTotal) == ["events": "1"])
      #expect(try await redis.ask("XLEN", keyspace.statsFanOuts) == "1")
      for (key, seconds) in [
        (keyspace.sums(id: "e1"), Keyspace.eventLifetimeSeconds),
        (keyspace.statsSums(event: "e1"), Keyspace.statsSumsLifetimeSeconds),
      ] {
        let left = Int(try await redis.ask("TTL", key) ?? "") ?? 0
        #expect(left > seconds - 60 && left <= seconds, "\(key)")
      }
    }
  }
}
