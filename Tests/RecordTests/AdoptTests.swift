import Fixtures
import Keyspace
import Model
import Testing

@testable import Record

/// Stragglers whose parent left no mark: what stands in Redis, and what is asked.
@Suite struct AdoptTests {
  private let minute = Duration.seconds(60)
  private let parent = segments("e1", 2)[0]

  private func list(_ number: UInt64 = 1) -> Segment {
    parent.straggling(
      [Straggler(user: "u1", member: member("aa"), history: PushHistory())], number: number)
  }

  private func adopt(
    _ record: RecordStage, _ segment: Segment, _ owner: String = "a"
  ) async throws -> String {
    let claim = Claim(segment: segment, owner: owner)
    return switch try await record.adopt(claim, lifetime: minute, now: noon) {
    case .yours: "yours"
    case .paused: "paused"
    case .claimed(let rest): rest > 50_000 && rest <= 60_000 ? "claimed" : "for \(rest)"
    case .settled: "settled"
    case .unplanned: "unplanned"
    case .orphaned: "orphaned"
    }
  }

  @Test func whatIsPausedIsPlannedAndNobodys() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let event = keyspace.event(id: list().event.id)
      _ = try await redis.ask("HSET", event, "state", "running", "brake", "paused")
      #expect(try await adopt(record, list()) == "paused")
      #expect(try await adopt(record, list()) == "paused")
      #expect(try await redis.ask("HGET", event, "stragglers") == "1")
      _ = try await redis.ask("HDEL", event, "brake")
      #expect(try await adopt(record, list()) == "yours")
      #expect(try await redis.ask("HGET", event, "stragglers") == "1")
    }
  }

  @Test func whatNobodyPlannedIsPlannedAndCountedOnce() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      #expect(try await adopt(record, list()) == "yours")
      // A reply that was lost; another worker.
      #expect(try await adopt(record, list()) == "yours")
      #expect(try await adopt(record, list(), "b") == "claimed")
      let running = try #require(try await record.status(of: "e1"))
      #expect(running.stragglers == 1 && running.state == .running && running.waiting == 1)
      #expect(try await redis.table(keyspace.statsTotal)["stragglers"] == "1")
      _ = try await record.settle(list(), tally(accepted: 1), now: noon)
      #expect(try await adopt(record, list(), "b") == "settled")
      // Its parent comes back, much too late, and has left the same list.
      _ = try await record.settle(
        parent, tally(accepted: 3), stragglers: [PlannedStragglers(list())], now: noon)
      #expect(try await adopt(record, list(), "b") == "settled")
      _ = try await record.settle(segments("e1", 2)[1], tally(accepted: 3), now: noon)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done && status.settled == 3 && status.isBalanced)
      #expect(status.stragglers == 1 && status.waiting == 0)
    }
  }

  @Test func whoStillWorksOnTheParentDecides() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await record.claim(Claim(segment: parent, owner: "p"), lifetime: minute)
      #expect(try await adopt(record, list()) == "unplanned")
      #expect(try await redis.ask("EXISTS", keyspace.stragglers(id: "e1")) == "0")
      // Its claim ended in 1970.
      _ = try await redis.ask("HSET", keyspace.claims(id: "e1"), parent.id, "p 77")
      #expect(try await adopt(record, list(1)) == "yours")
      _ = try await record.settle(
        parent, tally(accepted: 3), stragglers: [PlannedStragglers(list(2))], now: noon)
      #expect(try await adopt(record, list(2)) == "yours")
      #expect(try await adopt(record, list(3)) == "orphaned")
      #expect(try await record.status(of: "e1")?.stragglers == 2)
    }
  }

  @Test func whatAFailedRunWroteStaysDropped() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      try await record.drop([list().id], of: parent.event)
      #expect(try await adopt(record, list()) == "orphaned")
    }
  }
}
