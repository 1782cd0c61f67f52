import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Record

/// What became of single pushes is there exactly when the counters are, and bounded.
@Suite struct TraceTests {
  private static func notes(
    _ level: OutcomeNotes.Level = .failures, of segment: Segment? = nil
  ) -> OutcomeNotes {
    OutcomeNotes(level, isOfStragglers: segment?.stragglers != nil, now: { noon + 7 })
  }

  private static func tally(
    _ level: OutcomeNotes.Level = .failures, of segment: Segment? = nil,
    _ fill: (OutcomeNotes) -> Void
  ) -> SegmentTally {
    let tally = SegmentTally()
    tally.notes = notes(level, of: segment)
    if let notes = tally.notes { fill(notes) }
    return tally
  }

  private static func opened(
    _ redis: RedisClient, shards: Int = 2, _ change: (inout RecordOptions) -> Void = { _ in }
  ) async throws -> RecordStage {
    var options = RecordOptions()
    change(&options)
    let record = RecordStage(redis: redis, keyspace: keyspace, options: options)
    _ = try await record.open(
      event: event("e1"), audience: sharded(shards), source: "t/0/1", now: noon)
    return record
  }

  private static func told(_ record: RecordStage, _ user: String) async throws -> UserOutcomes {
    let status = try #require(try await record.status(of: "e1"))
    return try await record.outcomes(
      of: user, event: "e1", status, segment: try #require(record.segment(of: user, status)))
  }

  private static func words(_ record: RecordStage, _ user: String) async throws -> [String] {
    try await told(record, user).pushes.map(\.word)
  }

  private static let mark = DeviceMark.of(member("aa"))

  @Test func whatWasNotAcceptedIsToldOfItsUser() async throws {
    try await RedisFixture().run { redis async throws in
      let record = try await Self.opened(redis)
      let segment = segments("e1", 2)[Keyspace.shard(of: "u1", shards: 2)]
      let tally = Self.tally {
        $0.add(user: "u1", member: member("aa"), .outcome(.rejected(.unregistered)), sends: 3)
        $0.add(user: "u1", member: member("bb"), .outcome(.expired))
      }
      #expect(try await !Self.told(record, "u1").isSettled)
      _ = try await record.settle(segment, tally, now: noon)
      let told = try await Self.told(record, "u1")
      #expect(told.isSettled && told.deadLetters.isEmpty)
      #expect(
        told.pushes.first
          == TracedPush(device: Self.mark, word: "Unregistered", at: noon + 7, sends: 3))
      #expect(told.pushes.map(\.word) == ["Unregistered", "expired"])
      #expect(try await Self.words(record, "u2") == [])
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.trace == "failures" && status.traceOmitted == 0)
      #expect(status.numbers["traced"] == 2)
    }
  }

  /// It lives as long as the counters, under the data prefix, which dashboards may not read.
  @Test func itEndsWithTheEventAndIsNoDashboardsBusiness() async throws {
    try await RedisFixture().run { redis async throws in
      let record = try await Self.opened(redis, shards: 1)
      let tally = Self.tally { $0.add(user: "u1", member: "", .outcome(.suppressed(.muted))) }
      _ = try await record.settle(segments("e1", 1)[0], tally, now: noon)
      for key in ["ffd:{e:e1}:trace:0", "ffd:{e:e1}:document"] {
        let left = Int(try await redis.ask("TTL", key) ?? "") ?? 0
        #expect(left > 7 * 86_400 - 60 && left <= 7 * 86_400, "\(key)")
      }
      let stored = try await redis.table("ffd:{e:e1}:trace:0")
      #expect(stored == ["u1": "0:muted:\(String(noon + 7, radix: 36)):0"])
    }
  }

  @Test func aSegmentThatIsSettledTwiceIsNotedOnce() async throws {
    try await RedisFixture().run { redis async throws in
      let record = try await Self.opened(redis, shards: 1)
      let segment = segments("e1", 1)[0]
      for (word, owner) in [(Outcome.expired, "a"), (.expired, "a"), (.cancelled, "b")] {
        let tally = Self.tally { $0.add(user: "u1", member: member("aa"), .outcome(word)) }
        _ = try await record.settle(segment, tally, owner: owner, now: noon)
      }
      #expect(try await Self.words(record, "u1") == ["expired"])
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.numbers["traced"] == 1)
    }
  }

  @Test func moreThanTheMaximumIsOnlyCounted() async throws {
    try await RedisFixture().run { redis async throws in
      let record = try await Self.opened(redis) { $0.traceMaximum = 3 }
      for segment in segments("e1", 2) {
        let tally = Self.tally {
          for number in 0..<5 {
            $0.add(user: "\(segment.id)-\(number)", member: member("aa"), .outcome(.expired))
          }
        }
        _ = try await record.settle(segment, tally, now: noon)
      }
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.numbers["traced"] == 3 && status.traceOmitted == 7)
      var kept = 0
      for part in 0...1 { kept += try await redis.table("ffd:{e:e1}:trace:\(part)").count }
      #expect(kept == 3)
    }
  }

  /// A push that waited has one note, its last; one that was accepted then has none left.
  @Test func whatWaitedGetsItsLastWord() async throws {
    try await RedisFixture().run { redis async throws in
      let record = try await Self.opened(redis, shards: 1)
      let segment = segments("e1", 1)[0]
      let pushes = ["u1", "u2"].map {
        Straggler(user: $0, member: member("aa"), history: PushHistory())
      }
      let list = segment.straggling(pushes, number: 1)
      let left = Self.tally {
        for push in pushes { $0.add(user: push.user, member: push.member, .waiting, sends: 1) }
      }
      _ = try await record.settle(
        segment, left, stragglers: [PlannedStragglers(list)], now: noon)
      #expect(try await Self.words(record, "u1") == ["waiting"])
      let last = Self.tally(of: list) {
        $0.add(user: "u1", member: member("aa"), .outcome(.accepted), sends: 2)
        $0.add(user: "u2", member: member("aa"), .outcome(.rejected(.unanswered)), sends: 4)
      }
      _ = try await record.settle(list, last, now: noon)
      #expect(try await Self.words(record, "u1") == [])
      #expect(try await Self.words(record, "u2") == ["Unanswered"])
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.numbers["traced"] == 1 && status.state == .done)
    }
  }

  @Test func acceptedPushesAreKeptWhereTheyAreAskedFor() async throws {
    try await RedisFixture().run { redis async throws in
      let record = try await Self.opened(redis, shards: 1) { $0.trace = .all }
      let tally = Self.tally(.all) {
        $0.add(user: "u1", member: member("aa"), .outcome(.accepted), sends: 1)
      }
      _ = try await record.settle(segments("e1", 1)[0], tally, now: noon)
      #expect(try await Self.words(record, "u1") == ["accepted"])
      #expect(try await record.status(of: "e1")?.trace == "all")
    }
  }

  @Test func nothingIsKeptWhereNothingIsAskedFor() async throws {
    try await RedisFixture().run { redis async throws in
      let record = try await Self.opened(redis, shards: 1) { $0.trace = nil }
      #expect(record.options.notes(of: segments("e1", 1)[0], now: { 0 }) == nil)
      _ = try await record.settle(segments("e1", 1)[0], SegmentTally(), now: noon)
      #expect(try await redis.ask("EXISTS", "ffd:{e:e1}:document") == "0")
      #expect(try await redis.ask("EXISTS", "ffd:{e:e1}:trace:0") == "0")
      #expect(try await record.status(of: "e1")?.trace == "")
    }
  }

  /// What is told of a part counts as the part does: once for each run.
  @Test func aPartOfASegmentIsNotedWithItsCounters() async throws {
    try await RedisFixture().run { redis async throws in
      let record = try await Self.opened(redis, shards: 1)
      let tally = Self.tally { $0.add(user: "u1", member: member("aa"), .outcome(.expired)) }
      tally.pushes = 1
      tally.count(.expired)
      for _ in 0..<2 {
        try await record.countPart(
          of: segments("e1", 1)[0], tally, owner: "w", now: noon)
      }
      #expect(try await Self.words(record, "u1") == ["expired"])
      #expect(try await record.status(of: "e1")?.expired == 1)
    }
  }

  /// A key that holds something else holds up no segment.
  @Test func aKeyOfAnotherTypeCostsNotesAndNothingElse() async throws {
    try await RedisFixture().run { redis async throws in
      let record = try await Self.opened(redis, shards: 1)
      _ = try await redis.ask("SET", "ffd:{e:e1}:trace:0", "mine")
      let tally = Self.tally { $0.add(user: "u1", member: member("aa"), .outcome(.expired)) }
      guard
        case .recorded = try await record.settle(segments("e1", 1)[0], tally, now: noon)
      else {
        Issue.record("the segment was not recorded")
        return
      }
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.recordErrors > 0 && status.state == .done)
    }
  }

  @Test func aSegmentKeepsABoundedNumberOfNotes() {
    let notes = Self.notes()
    for number in 0..<OutcomeNotes.maximum + 9 {
      notes.add(user: "u\(number)", member: "", .skipped)
    }
    #expect(notes.all.count == OutcomeNotes.maximum && notes.omitted == 9)
    #expect(notes.keptBytes <= 2 * OutcomeNotes.maximumBytes)
    let long = Self.notes()
    let user = String(repeating: "x", count: 128)
    for _ in 0..<OutcomeNotes.maximum { long.add(user: user, member: "", .skipped) }
    #expect(long.omitted == OutcomeNotes.maximum / 4 * 3)
    #expect(long.keptBytes <= 2 * OutcomeNotes.maximumBytes)
  }
}
