import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import Record

/// Who works on a segment: what is there (nothing, mine, another's, an ended one, the settled mark)
/// and what is asked (claim, renew, release, settle).
@Suite struct ClaimTests {
  private let minute = Duration.seconds(60)

  private func claim(_ segment: Segment, _ owner: String) -> Claim {
    Claim(segment: segment, owner: owner)
  }

  /// Whoever settled it may have died before a replica had the mark, and the record ends with it.
  @Test func aSettledSegmentIsReliedOnOnlyWhenReplicasKnow() async throws {
    let segment = segments("e1", 1)[0]
    let fixture = try RedisFixture()
    try await fixture.run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await record.settle(segment, tally(accepted: 1), now: 1_767_225_600_000)
      #expect(try await record.claim(claim(segment, "a"), lifetime: minute) == .settled)
    }
    try await fixture.run(replicasToWaitFor: 1) { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      do throws(RecordError) {
        _ = try await record.claim(claim(segment, "a"), lifetime: minute, now: 0)
        Issue.record("no replica has it")
      } catch {
        #expect(error.code == .redis(.notCopied))
      }
    }
  }

  @Test func oneRunAtATimeHasASegment() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segment = segments("e1", 1)[0]
      guard
        case .yours(let time, _, _) = try await record.claim(claim(segment, "a"), lifetime: minute)
      else {
        Issue.record("a free segment was refused")
        return
      }
      #expect(time > 1_700_000_000_000)
      // A reply that was lost: the same run asks again.
      guard
        case .yours(_, _, takenFrom: nil) = try await record.claim(
          claim(segment, "a"), lifetime: minute)
      else {
        Issue.record("its own claim was refused")
        return
      }
      guard
        case .claimed(let rest) = try await record.claim(claim(segment, "b"), lifetime: minute)
      else {
        Issue.record("two runs have it")
        return
      }
      #expect(rest > 50_000 && rest <= 60_000)
      #expect(try await record.renew([claim(segment, "a")], lifetime: minute) == [.held])
      #expect(try await record.renew([claim(segment, "b")], lifetime: minute) == [.another])
      try await record.release(claim(segment, "b"), hasSent: false)
      #expect(try await redis.ask("HEXISTS", keyspace.claims(id: "e1"), segment.id) == "1")
      try await record.release(claim(segment, "a"), hasSent: false)
      guard
        case .yours(_, _, takenFrom: nil) = try await record.claim(
          claim(segment, "b"), lifetime: minute)
      else {
        Issue.record("a released segment was refused")
        return
      }
    }
  }

  @Test func aClaimEndsAndIsTakenOver() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segment = segments("e1", 1)[0]
      // It ended in 1970.
      _ = try await redis.ask("HSET", keyspace.claims(id: "e1"), segment.id, "dead worker 1 77")
      guard
        case .yours(_, _, let former) = try await record.claim(
          claim(segment, "b"), lifetime: minute)
      else {
        Issue.record("an ended claim holds")
        return
      }
      #expect(former == FormerOwner(name: "dead worker 1", hasReleased: false))
      #expect(
        try await record.renew([claim(segment, "dead worker 1")], lifetime: minute) == [.another])
      #expect(try await record.renew([claim(segment, "b")], lifetime: minute) == [.held])
    }
  }

  /// Answers are lost: until the segment is settled, or was perhaps sent by the next owner, whoever
  /// has it is told whom it was taken from.
  @Test(arguments: [("dead worker 1 77", false), ("dead worker 1 0", true)])
  func aFormerOwnerIsNamedToWhoeverAsksAgain(_ left: String, hasReleased: Bool) async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segment = segments("e1", 1)[0]
      let key = keyspace.claims(id: "e1")
      func former(_ owner: String) async throws -> FormerOwner? {
        try await record.claim(claim(segment, owner), lifetime: minute).takenFrom
      }
      let dead = FormerOwner(name: "dead worker 1", hasReleased: hasReleased)
      _ = try await redis.ask("HSET", key, segment.id, left)
      #expect(try await former("b") == dead)
      #expect(try await former("b") == dead, "the answer was lost")
      #expect(try await record.renew([claim(segment, "b")], lifetime: minute) == [.held])
      #expect(try await former("b") == dead, "the claim was renewed")
      guard case .claimed = try await record.claim(claim(segment, "c"), lifetime: minute) else {
        Issue.record("two runs have it")
        return
      }
      // It had heard nothing, and sent nothing.
      try await record.release(claim(segment, "b"), hasSent: false)
      #expect(try await redis.ask("HGET", key, segment.id) == left)
      #expect(try await former("c") == dead)
      try await record.release(claim(segment, "c"), hasSent: true)
      #expect(try await former("d") == FormerOwner(name: "c", hasReleased: true))
      // It died: only the last owner counts, so that a claim does not grow.
      let died = "c 0 > d 77"
      _ = try await redis.ask("HSET", key, segment.id, died)
      #expect(try await former("e") == FormerOwner(name: "d", hasReleased: false))
      #expect(try await redis.ask("HGET", key, segment.id)?.hasPrefix("d 77 > e ") == true)
      _ = try await record.settle(segment, tally(accepted: 1), owner: "e", now: noon)
      #expect(try await redis.ask("EXISTS", key) == "0")
    }
  }

  /// Redis' clock was ahead when it was written, and was set back.
  @Test func aClaimWithoutASaneEndIsNone() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segment = segments("e1", 1)[0]
      let now = try await record.time()
      let longest = Claim.longestLifetime.components.seconds * 1000
      for end in [
        "\(now + longest + 240_000)", "99999999999999", String(repeating: "9", count: 400),
        "9223372036854775807",
      ] {
        _ = try await redis.ask("HSET", keyspace.claims(id: "e1"), segment.id, "ahead 1 \(end)")
        guard case .yours = try await record.claim(claim(segment, "b"), lifetime: minute) else {
          Issue.record("a claim until \(end) holds")
          return
        }
        try await record.release(claim(segment, "b"), hasSent: false)
      }
      let dead = claim(segment, "dead")
      guard case .yours = try await record.claim(dead, lifetime: Claim.longestLifetime),
        case .claimed = try await record.claim(claim(segment, "b"), lifetime: minute)
      else {
        Issue.record("the longest claim is not believed")
        return
      }
    }
  }

  /// Nobody else has the segments: only a script that says so may stop those who send them.
  @Test func aRenewalWithoutAnAnswerIsAnError() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      for answer in [
        "{1, 0}", "{'held', 'none'}", "{'held'}", "{'held', 'held', 'held'}", "{'held', {'held'}}",
        "1", "'held'", "{}",
      ] {
        let reply = try await record.evaluate(
          RedisScript("return \(answer)"), keys: [])
        do {
          let found = try RecordStage.renewals(reply, of: 2)
          Issue.record("\(answer) was taken for \(found)")
        } catch let error as RecordError {
          #expect(error.code == .redis(.unexpected))
        }
      }
      let reply = try await record.evaluate(
        RedisScript("return {'held', 'another', 'settled'}"), keys: [])
      #expect(try RecordStage.renewals(reply, of: 3) == [.held, .another, .settled])
    }
  }

  @Test func aRenewedClaimEndsLater() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segments = segments("e1", 2)
      func end(_ segment: Segment) async throws -> Int {
        let held = try await redis.ask("HGET", keyspace.claims(id: "e1"), segment.id)
        return Int(held?.split(separator: " ").last ?? "") ?? 0
      }
      for segment in segments { _ = try await record.claim(claim(segment, "a"), lifetime: minute) }
      let first = try await end(segments[0])
      let claims = segments.map { claim($0, "a") }
      #expect(try await record.renew(claims, lifetime: minute * 10) == [.held, .held])
      for segment in segments { #expect(try await end(segment) >= first + 540_000) }
    }
  }

  /// Whatever stands in Redis: nothing, an own claim, an own that has ended, another's, that of a
  /// list which nobody will plan, each with the settled mark and without it.
  @Test func everyRenewalInEveryState() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segment = segments("e1", 1)[0]
      let (claims, settled) = (keyspace.claims(id: "e1"), keyspace.settled(id: "e1"))
      let end = try await record.time() + 60_000
      let states: [(claim: String?, found: Renewal)] = [
        (nil, .held), ("a \(end)", .held), ("a 77", .held), ("b \(end)", .another),
        ("b 77", .another), ("dropped", .another),
      ]
      for isSettled in [false, true] {
        for state in states {
          _ = try await redis.ask("DEL", claims, settled)
          if isSettled { _ = try await redis.ask("SADD", settled, segment.id) }
          if let claim = state.claim { _ = try await redis.ask("HSET", claims, segment.id, claim) }
          let found = try await record.renew([claim(segment, "a")], lifetime: minute)
          #expect(found == [isSettled ? .settled : state.found], "\(state)")
          // What is not held stays as it is.
          let after = try await redis.ask("HGET", claims, segment.id)
          if found == [.held] {
            #expect(after?.hasPrefix("a ") == true && after != "a 77")
          } else {
            #expect(after == state.claim)
          }
        }
      }
    }
  }

  @Test func aSlowOwnerKeepsWhatNobodyTook() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let segment = segments("e1", 2)[0]
      _ = try await redis.ask("HSET", keyspace.claims(id: "e1"), segment.id, "a 77")
      #expect(try await record.renew([claim(segment, "a")], lifetime: minute) == [.held])
      // Redis lost the claim and not the mark, or the other way round.
      _ = try await redis.ask("DEL", keyspace.claims(id: "e1"))
      #expect(try await record.renew([claim(segment, "a")], lifetime: minute) == [.held])
      _ = try await record.settle(segment, tally(accepted: 1), now: noon)
      #expect(try await record.renew([claim(segment, "a")], lifetime: minute) == [.settled])
      #expect(try await record.claim(claim(segment, "b"), lifetime: minute) == .settled)
      #expect(try await redis.ask("HEXISTS", keyspace.claims(id: "e1"), segment.id) == "0")
    }
  }

  @Test func stragglersAreSentOnceTheirSegmentSaysSo() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let parent = segments("e1", 1)[0]
      let push = Straggler(user: "u1", member: member("aa"), history: PushHistory())
      let mine = parent.straggling([push], number: 1)
      let dead = parent.straggling([push], number: 2)
      #expect(try await record.claim(claim(mine, "a"), lifetime: minute) == .unplanned)
      let first = tally(accepted: 3)
      let settlement = try await record.settle(
        parent, first, stragglers: [PlannedStragglers(mine)], now: noon)
      guard case .recorded(let settled) = settlement else {
        Issue.record("not recorded: \(settlement)")
        return
      }
      // One segment was planned, and its stragglers are one more.
      #expect(!settled.fanOutDone)
      #expect(try await record.claim(claim(dead, "a"), lifetime: minute) == .orphaned)
      guard case .yours = try await record.claim(claim(mine, "a"), lifetime: minute) else {
        Issue.record("planned stragglers were refused")
        return
      }
      _ = try await record.settle(mine, tally(accepted: 1), now: noon)
      let status = try #require(try await record.status(of: "e1"))
      #expect(status.state == .done && status.accepted == 4)
      #expect(status.segments == 1 && status.stragglers == 1 && status.settled == 2)
    }
  }

  @Test func whatAnotherRunWroteIsDroppedWhenTheSegmentWasSettledWithoutIt() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let parent = segments("e1", 1)[0]
      let push = Straggler(user: "u1", member: member("aa"), history: PushHistory())
      let lists = [parent.straggling([push], number: 1), parent.straggling([push], number: 2)]
      _ = try await record.settle(
        parent, tally(accepted: 3), stragglers: [PlannedStragglers(lists[0])], now: noon)
      let again = try await record.settle(
        parent, tally(accepted: 3), stragglers: [PlannedStragglers(lists[1])], now: noon)
      #expect(again == .alreadySettled)
      #expect(try await record.claim(claim(lists[1], "b"), lifetime: minute) == .orphaned)
    }
  }

  @Test func whatAFailedRunWroteIsDropped() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let parent = segments("e1", 1)[0]
      let push = Straggler(user: "u1", member: member("aa"), history: PushHistory())
      let list = parent.straggling([push], number: 1)
      #expect(try await record.claim(claim(list, "a"), lifetime: minute) == .unplanned)
      try await record.drop([list.id], of: parent.event)
      #expect(try await record.claim(claim(list, "a"), lifetime: minute) == .orphaned)
      try await record.drop([], of: parent.event)
    }
  }

  @Test func anAnomalousKeyIsAnErrorAndNoClaim() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      _ = try await redis.ask("SET", keyspace.claims(id: "e1"), "text")
      do {
        _ = try await record.claim(claim(segments("e1", 1)[0], "a"), lifetime: minute)
        Issue.record("claimed over a key of another type")
      } catch let error as RecordError {
        #expect(error.code == .redis(.wrongType) && !error.isTransient)
      }
    }
  }
}
