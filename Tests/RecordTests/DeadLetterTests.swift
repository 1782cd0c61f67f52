import Fixtures
import Keyspace
import Model
import Testing

@testable import Record

/// What an event's hash says of segments whose records are in the dead letters.
@Suite struct DeadLetterTests {
  private func note(_ record: RecordStage, _ segment: Segment?) async throws -> [String: Int]? {
    let figures = try await record.noteDeadLetter(
      of: segment.map { .segment($0) } ?? .event, event("e1"), code: "unprocessable",
      source: "t/0/1", now: noon)
    return figures.map { Dictionary(uniqueKeysWithValues: $0.map { ($0.name, $0.count) }) }
  }

  private func open(_ record: RecordStage, _ count: Int, replayed: Bool = false) async throws
    -> OpenResult
  {
    try await record.open(
      event: event("e1"), audience: sharded(count), source: replayed ? "t/0/9" : "t/0/1",
      replayed: replayed ? "t/0/1" : nil, now: noon)
  }

  @Test func aFanOutEndsWithoutThem() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segments = segments("e1", 4)
      _ = try await open(record, 4)
      for segment in segments[0...1] {
        _ = try await record.settle(segment, tally(accepted: 5), now: noon)
      }
      // Once each, and not what is settled.
      for segment in [segments[2], segments[2], segments[0]] {
        #expect(try await note(record, segment) == nil)
      }
      var status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .running && status.deadLettered == 1 && status.settled == 2)
      guard
        case .recorded(let last) = try await record.settle(
          segments[3], tally(accepted: 5), owner: "a", now: noon)
      else {
        Issue.record("not recorded")
        return
      }
      #expect(last.fanOut?.contains { $0.name == "dead_lettered" && $0.count == 1 } == true)
      #expect(!last.isComplete && !last.fanOutDone)
      #expect(
        try await record.settle(segments[3], tally(accepted: 5), owner: "a", now: noon)
          == .recorded(last))
      status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .incomplete && status.doneAt == Int(noon) && status.settled == 3)
      #expect(try await open(record, 4) == .finished)
      // Somebody sends it in again.
      guard
        case .recorded(let all) = try await record.settle(
          segments[2], tally(accepted: 5), now: noon + 9)
      else {
        Issue.record("not recorded")
        return
      }
      #expect(all.fanOutDone)
      status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done && status.deadLettered == 0 && status.accepted == 20)
      #expect(status.doneAt == Int(noon) + 9 && status.numbers["dead_lettered"] == nil)
      let total = try await redis.table(keyspace.statsTotal)
      #expect(total["events_incomplete"] == "1" && total["events_done"] == "1")
      #expect(try await redis.ask("XLEN", keyspace.statsEvents) == "2")
      let left = Int(try await redis.ask("TTL", keyspace.event(id: "e1")) ?? "") ?? 0
      #expect(left > 0)
    }
  }

  /// The last word may be the dead letter's.
  @Test func theLastOfThemEndsIt() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segments = segments("e1", 2)
      _ = try await open(record, 2)
      _ = try await record.settle(segments[0], tally(accepted: 5), now: noon)
      let figures = try #require(try await note(record, segments[1]))
      #expect(figures["accepted"] == 5 && figures["dead_lettered"] == 1)
      #expect(try await note(record, segments[1]) == nil)
      let entry = try await redis.ask("XLEN", keyspace.statsEvents)
      #expect(entry == "1")
      let ttl = Int(try await redis.ask("TTL", keyspace.deadLetters(id: "e1")) ?? "") ?? 0
      #expect(ttl > Keyspace.eventLifetimeSeconds - 60)
    }
  }

  /// A list counts when it is planned; the event that planned it goes on when it comes again.
  @Test func listsOfStragglersAreCounted() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let parent = segments("e1", 1)[0]
      let push = Straggler(user: "u1", member: member("aa"), history: PushHistory())
      let list = parent.straggling([push], number: 1)
      #expect(try await note(record, list) == nil)
      #expect(try await record.status(of: "e1") == nil)
      _ = try await record.settle(
        parent, tally(accepted: 1), stragglers: [PlannedStragglers(list)], now: noon)
      #expect(try await note(record, list)?["dead_lettered"] == 1)
      #expect(try await record.status(of: "e1")?.state == .incomplete)
      // It leaves a list of its own behind: there is more to come.
      let next = list.straggling([push], number: 2)
      _ = try await record.settle(
        list, tally(accepted: 0), stragglers: [PlannedStragglers(next)], now: noon)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .running && status.deadLettered == 0 && status.doneAt == 0)
      _ = try await record.settle(next, tally(accepted: 1), now: noon)
      #expect(try await record.status(of: "e1")?.state == .done)
    }
  }

  /// What an event has not brought to Kafka is lost with it, until it comes again.
  /// The record that was to bring more segments of a very large event to Kafka.
  @Test func whatWasToBeWrittenByARecordIsLostWithIt() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      func note() async throws {
        _ = try await record.noteDeadLetter(
          of: .plan, event("e1"), code: "x", source: "bulk/0/2", now: noon)
      }
      #expect(try await record.published(of: event("e1")) == nil)
      try await note()
      #expect(try await record.status(of: "e1") == nil)
      _ = try await open(record, 4)
      #expect(try await record.published(of: event("e1")) == 0)
      try await record.published(2, of: event("e1"), now: noon)
      #expect(try await record.published(of: event("e1")) == 2)
      try await note()
      try await note()
      #expect(try await record.status(of: "e1")?.deadLettered == 2)
      let segments = segments("e1", 4)
      for segment in segments[0...1] {
        _ = try await record.settle(segment, tally(accepted: 1), now: noon)
      }
      #expect(try await record.status(of: "e1")?.state == .incomplete)
      // It was written all the same, and is not noted. The end was told already.
      guard
        case .recorded(let late) = try await record.settle(
          segments[2], tally(accepted: 1), now: noon)
      else {
        Issue.record("not recorded")
        return
      }
      #expect(late.fanOut == nil)
      // The event's own record, read again, changes nothing.
      #expect(try await open(record, 4) == .finished)
      #expect(try await record.status(of: "e1")?.deadLettered == 2)
      // Somebody sends it in again.
      try await record.published(4, of: event("e1"), now: noon)
      try await record.published(2, of: event("e1"), now: noon)
      #expect(try await record.published(of: event("e1")) == 4)
      let again = try #require(try await record.status(of: "e1"))
      #expect(again.state == .running && again.deadLettered == 0)
      _ = try await record.settle(segments[3], tally(accepted: 1), now: noon)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done && status.accepted == 4)
    }
  }

  @Test func anEventsOwnRecord() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      #expect(try await note(record, nil) == nil)
      #expect(try await record.status(of: "e1") == nil)
      _ = try await open(record, 4)
      try await record.published(1, of: event("e1"), now: noon)
      #expect(
        try await record.noteDeadLetter(
          of: .event, event("e1"), code: "x", source: "t/0/2", now: noon) == nil)
      #expect(try await note(record, nil) == nil)
      #expect(try await record.status(of: "e1")?.deadLettered == 3)
      let segments = segments("e1", 4)
      _ = try await record.settle(segments[0], tally(accepted: 1), now: noon)
      #expect(try await record.status(of: "e1")?.state == .incomplete)
      #expect(
        try await open(record, 4, replayed: true) == .resumed(plan: sharded(4), published: 1))
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .running && status.deadLettered == 0)
      for segment in segments[1...] {
        _ = try await record.settle(segment, tally(accepted: 1), now: noon)
      }
      #expect(try await record.status(of: "e1")?.state == .done)
    }
  }

  @Test func aKeyOfAnotherTypeIsAnError() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await redis.ask("SET", keyspace.deadLetters(id: "e1"), "text")
      do {
        _ = try await note(record, segments("e1", 1)[0])
        Issue.record("noted over a key of another type")
      } catch let error as RecordError {
        #expect(error.code == .redis(.wrongType))
      }
    }
  }
}
