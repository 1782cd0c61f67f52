import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Record

/// Redis loses what was noted of a fan-out while segments of it are on their way.
@Suite struct ForgottenTests {
  private func open(_ record: RecordStage, _ segments: Int) async throws {
    _ = try await record.open(
      event: event("e1"), audience: sharded(segments), source: "t/0/1", now: noon)
  }

  private func settle(
    _ record: RecordStage, _ segment: Segment, owner: String = ""
  ) async throws -> SettledSegment? {
    let settlement = try await record.settle(
      segment, tally(accepted: 5), owner: owner, now: noon + 9)
    guard case .recorded(let settled) = settlement else { return nil }
    return settled
  }

  /// What was settled before comes never again: the end is when nobody works on the rest.
  @Test(arguments: [true, false])
  func itEndsWhenNobodyWorksOnItAndSaysWhatItCan(hashToo: Bool) async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segments = segments("e1", 5)
      try await open(record, 5)
      for segment in segments[0...1] { _ = try await settle(record, segment) }
      let claims = segments[2...3].map { Claim(segment: $0, owner: "a") }
      for claim in claims { _ = try await record.claim(claim, lifetime: .seconds(10)) }
      if hashToo { _ = try await redis.ask("DEL", keyspace.event(id: "e1")) }
      _ = try await redis.ask("DEL", keyspace.settled(id: "e1"))
      try await record.drop(["1.9~0"], of: event("e1"))
      #expect(try await settle(record, segments[2], owner: "a")?.fanOut == nil)
      let running = try #require(try await record.status(of: "e1"))
      #expect(running.state == .running && running[.forgotten] == Int(noon) + 9)
      let last = try #require(try await settle(record, segments[3], owner: "a"))
      #expect(last.fanOut?["accepted"] == (hashToo ? 10 : 20) && !last.isComplete)
      #expect(last.fanOut?["forgotten_ms"] == Int(noon) + 9)
      #expect(try await record.status(of: "e1")?.state == .incomplete)
      #expect(try await redis.ask("XLEN", keyspace.statsEvents) == "1")
      // One that nobody had claimed yet counts, and the end is told once.
      #expect(try await settle(record, segments[4])?.fanOut == nil)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .incomplete && status.accepted == (hashToo ? 15 : 25))
      #expect(try await redis.ask("XLEN", keyspace.statsEvents) == "1")
    }
  }

  /// One settled segment is enough to be missed, whether the next thing that is noted is a segment
  /// or a dead letter.
  @Test(arguments: [1, 2, 3], [false, true])
  func itEndsHoweverFewWereForgotten(settled: Int, isDeadLetter: Bool) async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segments = segments("e1", settled + 2)
      try await open(record, segments.count)
      for segment in segments.prefix(settled) { _ = try await settle(record, segment) }
      #expect(try await record.status(of: "e1")?.numbers["forgotten_ms"] == nil)
      _ = try await redis.ask("DEL", keyspace.settled(id: "e1"))
      if isDeadLetter {
        _ = try await record.noteDeadLetter(
          of: .segment(segments[settled]), event("e1"), code: "x", source: "t/0/2", now: noon)
      } else {
        _ = try await settle(record, segments[settled])
      }
      #expect(try await record.status(of: "e1")?.numbers["forgotten_ms"] != nil)
      _ = try await settle(record, segments[settled + 1])
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .incomplete && status[.forgotten] > 0)
    }
  }

  /// All that was lost is settled still: nothing is missing.
  @Test func itIsDoneWhenNothingWasSettledBefore() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await open(record, 2)
      _ = try await redis.ask("DEL", keyspace.event(id: "e1"))
      for segment in segments("e1", 2) { _ = try await settle(record, segment) }
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done && status.accepted == 10 && status[.forgotten] > 0)
    }
  }

  @Test func theLastWordMayBeADeadLetters() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segments = segments("e1", 3)
      try await open(record, 3)
      _ = try await settle(record, segments[0])
      _ = try await redis.ask("DEL", keyspace.event(id: "e1"), keyspace.settled(id: "e1"))
      let figures = try await record.noteDeadLetter(
        of: .segment(segments[1]), event("e1"), code: "x", source: "t/0/2", now: noon)
      #expect(figures?["dead_lettered"] == 1)
      #expect(try await record.status(of: "e1")?.state == .incomplete)
    }
  }

  /// What is as it should be is not called forgotten.
  @Test func whatIsRememberedIsNot() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await open(record, 3)
      for segment in segments("e1", 3) {
        #expect(try await record.status(of: "e1")?.state == .running)
        _ = try await settle(record, segment)
      }
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done && status.numbers["forgotten_ms"] == nil)
    }
  }
}

extension [FanOutFigure] {
  fileprivate subscript(_ name: String) -> Int? { first { $0.name == name }?.count }
}
