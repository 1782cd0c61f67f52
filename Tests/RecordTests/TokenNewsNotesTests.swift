import Fixtures
import Keyspace
import Model
import Redis
import Testing
import Threads

@testable import Record

/// That what becomes of tokens is told, wherever a worker dies.
@Suite struct TokenNewsNotesTests {
  private static let options: RecordOptions = {
    var options = RecordOptions(verdictsAtOnce: 2)
    options.tellsTokens = true
    return options
  }()

  /// Where a worker dies besides behind any answer of Redis.
  private enum Death { case never, beforeItTells, afterItHasTold }

  /// What a lane does at the end of a segment.
  private static func work(
    _ record: RecordStage, _ own: SegmentTally, death: Death = .never,
    _ tell: ([TokenNews]) -> Void
  ) async throws {
    struct Died: Error {}
    let segment = segments("e1", 1)[0]
    func tellAll() async throws {
      if death == .beforeItTells, !own.pendingChanges.isEmpty { throw Died() }
      tell(own.pendingChanges.news)
      if death == .afterItHasTold, !own.pendingChanges.isEmpty { throw Died() }
      try await record.forget(own.pendingChanges.notes, of: segment)
      own.pendingChanges = PendingTokenChanges()
    }
    try await record.prune(segment, own, now: noon)
    try await tellAll()
    while case .pending(let notes) = try await record.settle(segment, own, now: noon) {
      try await record.takeUp(notes, of: segment, own, now: noon)
      try await tellAll()
    }
  }

  private static let users = ["u1", "u2", "u3", "u4", "u5"]

  private static func bindAll(_ redis: RedisClient) async throws {
    for user in users { try await redis.bind(user, "a\(user.suffix(1))", at: noon - 1) }
    // This one is younger than Apple's word, and stays.
    try await redis.bind("u5", "a5", at: noon + 1)
  }

  private static var verdicts: [TokenVerdict] {
    [
      gone("u1", "a1", since: noon), unusable("u2", "a2"), gone("u3", "a3", since: noon),
      unusable("u4", "a4"), gone("u5", "a5", since: noon), gone("u6", "a6", since: noon),
    ]
  }

  /// Who takes the segment over hears of those that are bound still, and of no others.
  private static func takeOver(
    _ redis: RedisClient, _ tell: ([TokenNews]) -> Void
  ) async throws {
    let record = RecordStage(redis: redis, keyspace: keyspace, options: options)
    var left: [TokenVerdict] = []
    for verdict in verdicts {
      let isBound = try await redis.ask(
        "SISMEMBER", keyspace.bindings(user: verdict.user), verdict.member)
      if isBound == "1" { left.append(verdict) }
    }
    try await work(record, tally(accepted: 100, left), tell)
    #expect(try await redis.hasSettled(segments("e1", 1)[0]))
    let notes = try await redis.ask(
      "EXISTS", keyspace.untold(event: "e1", segment: segments("e1", 1)[0].id))
    #expect(notes == "0")
  }

  private static func expectAll(_ told: [TokenNews], _ place: String) {
    #expect(Set(told.map(\.user)) == ["u1", "u2", "u3", "u4"], "\(place)")
    for news in told {
      #expect(news.event == "e1" && news.at == noon && news.token == "a\(news.user.suffix(1))")
      #expect(news.topic == "com.example.live" && news.destination == .production)
      switch news.user {
      case "u1", "u3":
        #expect(news.kind == .pruned(since: noon) && news.reason == "Unregistered", "\(place)")
      default: #expect(news.kind == .quarantined && news.reason == "BadDeviceToken", "\(place)")
      }
    }
  }

  @Test func eachIsToldOnceWhenNobodyDies() async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.bindAll(redis)
      var told: [TokenNews] = []
      let record = RecordStage(redis: redis, keyspace: keyspace, options: Self.options)
      let own = tally(accepted: 100, Self.verdicts)
      try await Self.work(record, own) { told += $0 }
      Self.expectAll(told, "alive")
      #expect(told.count == 4 && own.findings.pruned == 2 && own.findings.quarantined == 2)
      #expect(try await record.status(of: "e1")?.pruned == 2)
    }
  }

  @Test(arguments: [false, true]) func aDeathBesideItsWordLosesNothing(isTold: Bool) async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.bindAll(redis)
      var told: [TokenNews] = []
      let record = RecordStage(redis: redis, keyspace: keyspace, options: Self.options)
      var hasDied = false
      do {
        try await Self.work(
          record, tally(accepted: 100, Self.verdicts),
          death: isTold ? .afterItHasTold : .beforeItTells
        ) { told += $0 }
      } catch {
        hasDied = true
      }
      #expect(hasDied)
      try await Self.takeOver(redis) { told += $0 }
      Self.expectAll(told, "told: \(isTold)")
    }
  }

  /// Each answer of Redis in turn is the one that a worker does not live to hear.
  @Test func noneIsMissedWhereverAWorkerDies() async throws {
    var answer = 1
    while try await dies(before: answer) { answer += 1 }
    #expect(answer > 8, "there are as many steps: \(answer)")
  }

  /// Whether it died.
  private func dies(before lost: Int) async throws -> Bool {
    let fixture = try RedisFixture()
    let told = ThreadLock<[TokenNews]>([])
    try await fixture.run { redis async throws in try await Self.bindAll(redis) }
    let hasDied = ThreadLock(false)
    let answers = ThreadLock(0)
    try await ProxiedClient.run(
      to: fixture.server.port,
      rewriter: { bytes in
        answers.withLock { answers in
          answers += 1
          return answers >= lost ? [] : bytes
        }
      },
      { redis in
        let record = RecordStage(redis: redis, keyspace: keyspace, options: Self.options)
        do {
          try await Self.work(record, tally(accepted: 100, Self.verdicts)) { news in
            told.withLock { $0 += news }
          }
        } catch {
          hasDied.withLock { $0 = true }
        }
      })
    guard hasDied.withLock({ $0 }) else { return false }
    try await ProxiedClient.run(to: fixture.server.port, rewriter: { $0 }) { redis in
      try await Self.takeOver(redis) { news in told.withLock { $0 += news } }
    }
    Self.expectAll(told.withLock { $0 }, "answer \(lost)")
    return true
  }

  /// What was done is not known for ever. A token that is not bound is told of then; one that was
  /// bound again is its user's.
  @Test func afterALongTimeWhatIsNotBoundIsTold() async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.bindAll(redis)
      let record = RecordStage(redis: redis, keyspace: keyspace, options: Self.options)
      let segment = segments("e1", 1)[0]
      try await record.prune(segment, tally(accepted: 100, Self.verdicts), now: noon)
      for user in Self.users { _ = try await redis.ask("DEL", keyspace.verdicts(user: user)) }
      try await redis.bind("u1", "a1", at: noon + 1)
      let later = noon + 600_000
      let own = tally(accepted: 100)
      let settlement = try await record.settle(segment, own, now: later)
      guard case .pending(let notes) = settlement else {
        Issue.record("settled: \(settlement)")
        return
      }
      try await record.takeUp(notes, of: segment, own, now: later)
      #expect(Set(own.pendingChanges.news.map(\.user)) == ["u2", "u3", "u4", "u6"])
      #expect(own.findings == PruneFindings(), "who died has counted what it could")
      #expect(Set(own.pendingChanges.notes) == Set(notes))
    }
  }

  /// Nobody would look for its notes.
  @Test func aWorkerThatComesLateWritesNothing() async throws {
    try await RedisFixture().run { redis async throws in
      try await Self.bindAll(redis)
      let record = RecordStage(redis: redis, keyspace: keyspace, options: Self.options)
      let segment = segments("e1", 1)[0]
      _ = try await record.settle(segment, tally(accepted: 100), now: noon)
      let late = tally(accepted: 100, Self.verdicts)
      try await record.prune(segment, late, now: noon)
      #expect(late.pendingChanges.isEmpty && late.verdicts.isEmpty)
      #expect(try await redis.ask("SCARD", keyspace.bindings(user: "u1")) == "1")
    }
  }

  @Test func notesSurviveTheirText() {
    for verdict in Self.verdicts {
      let note = VerdictNote(verdict, at: noon)
      let read = VerdictNote(note.text)
      #expect(read?.verdict == verdict && read?.at == noon)
    }
    for text in ["", "1\n2\n3\n4", "x\n1\nUnregistered\nu1\nm", "1\nx\nUnregistered\nu1\nm"] {
      #expect(VerdictNote(text) == nil)
    }
  }
}
