import Fixtures
import Keyspace
import Model
import Testing

@testable import Record

@Suite struct SettleTests {
  @Test func countersAreExactAndWrittenOnce() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await record.open(
        event: event("e1"), audience: sharded(2), source: "t/0/1", now: noon)
      let segments = segments("e1", 2)
      let first = tally(accepted: 10)
      first.pushes += 5
      first.count(.rejected(.payloadTooLarge), times: 2)
      first.count(.suppressed(.muted), times: 2)
      first.count(.suppressed(.quiet))
      first.retried = 4
      first.skipped = 1
      let settled = SettledSegment(fanOut: nil, findings: PruneFindings(), recordErrors: 0)
      #expect(try await record.settle(segments[0], first, now: noon) == .recorded(settled))
      #expect(try await record.settle(segments[0], first, now: noon) == .alreadySettled)
      #expect(try await redis.hasSettled(segments[0]))
      #expect(try await !redis.hasSettled(segments[1]))
      let second = tally(accepted: 7)
      second.firstPushAt = noon + 5
      second.lastPushAt = noon + 15
      guard case .recorded(let last) = try await record.settle(segments[1], second, now: noon + 99)
      else {
        Issue.record("the last segment was not recorded")
        return
      }
      let figures = Dictionary(
        uniqueKeysWithValues: (last.fanOut ?? []).map { ($0.name, $0.count) })
      #expect(figures["pushes"] == 22 && figures["accepted"] == 17 && figures["rejected"] == 2)
      #expect(figures["suppressed"] == 3 && figures["expired"] == 0 && figures["retried"] == 4)
      #expect(try await redis.hasSettled(segments[1]))

      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done)
      #expect(status.segments == 2 && status.settled == 2)
      #expect(status.recipients == 17 && status.pushes == 22 && status.accepted == 17)
      #expect(status.rejected == ["PayloadTooLarge": 2])
      #expect(status.suppressed == 3 && status.retried == 4 && status.skipped == 1)
      #expect(status.suppressedByRule == ["muted": 2, "quiet": 1])
      #expect(status.firstPushAt == Int(noon) + 5 && status.lastPushAt == Int(noon) + 20)
      #expect(status.doneAt == Int(noon) + 99)
      #expect(status.isBalanced)
      for key in [
        keyspace.statsTotal, keyspace.statsDay(milliseconds: noon),
        keyspace.statsMinute(milliseconds: noon),
      ] {
        let stats = try await redis.table(key)
        #expect(stats["pushes"] == "22" && stats["segments"] == "2", "\(key)")
        #expect(stats["rejected:PayloadTooLarge"] == "2" && stats["expired"] == nil)
        #expect(stats["rejected"] == "2", "\(key)")
      }
    }
  }

  /// Segments settle in any order; one that sent nothing has no times.
  @Test func theTimesAreThoseOfTheFirstAndTheLastPush() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let times: [(first: Int64, last: Int64)] = [(0, 0), (20, 50), (10, 30), (15, 40), (0, 0)]
      for (segment, time) in zip(segments("e1", 5), times) {
        let own = tally(accepted: 1)
        own.firstPushAt = time.first
        own.lastPushAt = time.last
        _ = try await record.settle(segment, own, now: noon)
      }
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.firstPushAt == 10 && status.lastPushAt == 50)
    }
  }

  @Test func aSegmentOfAnEventThatRedisForgotStillSettles() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await record.settle(segments("e1", 2)[1], tally(accepted: 4), now: noon)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .incomplete && status.segments == 2 && status.settled == 1)
      #expect(status.streamer == "s1" && status.template == "go-live" && status.accepted == 4)
      let opened = try await record.open(
        event: event("e1"), audience: sharded(2), source: "t/0/1", now: noon)
      #expect(opened == .resumed(plan: sharded(2), published: 0))
      let resumed = try #require(try await record.status(of: "e1"))
      #expect(resumed.state == .running && resumed.settled == 1)
    }
  }

  @Test func aLostReplyIsMadeGoodByTheNextTry() async throws {
    let fixture = try RedisFixture()
    let segment = segments("e1", 1)[0]
    let wasLost = try await fixture.run(commandTimeout: .milliseconds(200)) { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await redis.hasSettled(segment)
      fixture.server.freeze()
      do {
        _ = try await record.settle(segment, tally(accepted: 5), now: noon)
        return false
      } catch let error as RecordError {
        return error.isTransient && error.code == .redis(.timeout)
      }
    }
    #expect(wasLost)
    fixture.server.resume()
    try await fixture.run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      // Redis may have run the script before or may run it now: either way it counts once.
      _ = try await record.settle(segment, tally(accepted: 5), now: noon)
      #expect(try await record.settle(segment, tally(accepted: 5), now: noon) == .alreadySettled)
      #expect(try await record.status(of: "e1")?.accepted == 5)
    }
  }

  /// The figures are the worker's only word on the end of a fan-out.
  @Test func whoDidNotHearTheAnswerGetsItAgain() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segments = segments("e1", 2)
      for (index, segment) in segments.enumerated() {
        try await redis.bind("u\(index)", "aa0\(index)", at: noon)
        let own = tally(accepted: 5, [gone("u\(index)", "aa0\(index)", since: noon)])
        let first = try await record.settle(segment, own, owner: "a b", now: noon)
        guard case .recorded(let settled) = first else {
          Issue.record("not recorded: \(first)")
          return
        }
        #expect(settled.fanOutDone == (index == 1) && settled.findings.pruned == 1)
        #expect(try await record.settle(segment, own, owner: "a b", now: noon) == first)
        for other in ["a", "b", "a b 1", ""] {
          let again = try await record.settle(segment, own, owner: other, now: noon)
          #expect(again == .alreadySettled, "\(other)")
        }
      }
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.accepted == 10 && status.pruned == 2 && status.settled == 2)
      let left = Int(try await redis.ask("TTL", keyspace.receipts(id: "e1")) ?? "") ?? 0
      #expect(left > 0 && left <= 600)
    }
  }

  @Test func aSegmentSaysWhatStoodInTheWay() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segments = segments("e1", 2)
      _ = try await record.open(
        event: event("e1"), audience: sharded(2), source: "t/0/1", now: noon)
      _ = try await record.settle(segments[0], tally(accepted: 4), now: noon)
      #expect(try await record.status(of: "e1")?.obstacle == "")
      let held = tally(accepted: 1)
      held.obstacle = "production: unreachable"
      let left = segments[1].straggling([], number: 1)
      _ = try await record.settle(
        segments[1], held, stragglers: [PlannedStragglers(left)], now: noon + 5)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.obstacle == "production: unreachable")
      #expect(status.numbers["obstacle_ms"] == Int(noon) + 5)
      #expect(status.state == .running && status.stragglers == 1)
    }
  }

  /// What waits is known at each step, whoever repeats a step.
  @Test func theEventSaysHowManyPushesWait() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      func list(_ parent: Segment, _ pushes: Int, number: UInt64) -> Segment {
        parent.straggling(
          (0..<pushes).map {
            Straggler(user: "u\($0)", member: member("aa"), history: PushHistory())
          }, number: number)
      }
      func settle(_ segment: Segment, accepted: Int, leaving lists: [Segment]) async throws -> Int {
        let own = tally(accepted: accepted)
        own.pushes += lists.reduce(0) { $0 + ($1.stragglers?.pushes.count ?? 0) }
        for push in lists.flatMap({ $0.stragglers?.pushes ?? [] }) { own.postpone(push) }
        own.stragglers = []
        // The reply was lost: it is said twice, and counts once.
        for _ in 0..<2 {
          _ = try await record.settle(
            segment, own, stragglers: lists.map(PlannedStragglers.init), now: noon)
        }
        return try #require(try await record.status(of: "e1")).waiting
      }
      let segments = segments("e1", 3)
      #expect(try await settle(segments[0], accepted: 7, leaving: []) == 0)
      #expect(try await redis.table(keyspace.event(id: "e1"))["waiting"] == nil)
      let first = [list(segments[1], 5, number: 1), list(segments[1], 4, number: 2)]
      #expect(try await settle(segments[1], accepted: 3, leaving: first) == 9)
      // Two of five wait on; then a segment that leaves others, and the rest of the first round.
      let second = list(first[0], 2, number: 3)
      #expect(try await settle(first[0], accepted: 3, leaving: [second]) == 6)
      let third = list(segments[2], 1, number: 4)
      #expect(try await settle(segments[2], accepted: 0, leaving: [third]) == 7)
      #expect(try await settle(first[1], accepted: 4, leaving: []) == 3)
      #expect(try await settle(second, accepted: 2, leaving: []) == 1)
      #expect(try await record.status(of: "e1")?.state == .running)
      #expect(try await settle(third, accepted: 1, leaving: []) == 0)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done && status.accepted == 20 && status.isBalanced)
      #expect(try await redis.table(keyspace.event(id: "e1"))["waiting"] == "0")
    }
  }

  /// Redis lost the segment that left a list, as after a fail-over: nothing waits less than nobody.
  @Test func aListWhoseSegmentWasForgottenMakesNobodyWaitLess() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let push = Straggler(user: "u1", member: member("aa"), history: PushHistory())
      let list = segments("e1", 2)[0].straggling([push], number: 1)
      _ = try await record.settle(list, tally(accepted: 1), now: noon)
      #expect(try await record.status(of: "e1")?.waiting == 0)
      // A counter that is none is told, and holds nothing up.
      _ = try await redis.ask("HSET", keyspace.event(id: "e1"), "waiting", "many")
      let other = segments("e1", 2)[1].straggling([push], number: 2)
      guard
        case .recorded(let settled) = try await record.settle(
          other, tally(accepted: 1), now: noon)
      else {
        Issue.record("not recorded")
        return
      }
      #expect(settled.recordErrors == 1)
    }
  }
}
