import APNsSimulator
import Deliver
import Pipeline
import Record
import Rules
import Telemetry
import Testing
import World

/// People whom an event may not reach, on the whole way: counters of Redis beside the simulator's
/// ledger.
@Suite struct RuleTests {
  /// From an hour before now to an hour behind it, by UTC.
  private static func quietNow(_ harness: WorldHarness) -> String {
    func clock(_ hours: Int64) -> String {
      String(
        WallClock.rfc3339(harness.now + hours * 3_600_000).dropFirst(11).prefix(5))
    }
    return "\(clock(-1))-\(clock(1))"
  }

  private static func strictly(_ options: inout PipelineOptions) {
    options.expand.rules = RecipientRules(
      mutesStreamers: true, timeZones: TimeZones(["UTC": .utc]), picksNewestDevice: true,
      eventsPerHour: 1)
  }

  private static func profile(_ harness: WorldHarness, _ user: Int, _ fields: String...) throws {
    harness.redis(["HSET", "ffd:{u:s1-u\(user)}:profile"] + fields)
  }

  @Test func everyRuleCountsItsOwn() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: (0..<9).map(paddedHex))
      for old in 20...21 {
        let member = "apns:production:\(WorldHarness.app):\(paddedHex(old))"
        harness.redis("SADD", "ffd:{u:s1-u8}:bindings", member)
        harness.redis("HSET", "ffd:{u:s1-u8}:bound", member, "\(old)")
      }
      try Self.profile(harness, 0, "muted", "1")
      try Self.profile(harness, 1, "muted_streamers", "s2\ns1\ns3")
      try Self.profile(harness, 2, "muted_streamers", "s2\ns3")
      for user in 3...5 {
        try Self.profile(harness, user, "quiet", Self.quietNow(harness), "tz", "UTC")
      }
      try Self.profile(harness, 6, "quiet", "whenever")
      let now = String(harness.now)
      harness.redis("ZADD", "ffd:{u:s1-u7}:reached", now, "another")
      let worker = try harness.startWorker(Self.strictly)
      harness.emit("e1")
      let status = try harness.finished("e1")
      #expect(status.isBalanced && status.recipients == 9 && status.pushes == 11)
      #expect(status.suppressedByRule == ["muted": 2, "quiet": 3, "device": 2, "cap": 1])
      #expect(status.suppressed == 8)
      #expect(status.accepted == 3 && status.skipped == 1)
      let summary = harness.summary
      #expect(summary.accepted == status.accepted && summary.duplicates == 0)
      let reached = harness.counts(of: (0..<9).map(paddedHex)).map(\.accepted)
      #expect(reached == [0, 0, 1, 0, 0, 0, 1, 0, 1])
      #expect(summary.requests == 3, "no older device was asked for")
      #expect(harness.stop(worker))
      // All of them beside those of all time.
      let total = harness.redis("HMGET", "ff:{stats}:total", "suppressed", "suppressed:quiet")
      #expect(total.split(separator: "\n") == ["8", "3"])
    }
  }

  /// Refused once, and then taken: what is left waits for its next try, and its owner goes to
  /// bed.
  @Test func whoGoesToBedBetweenTwoTriesIsLeftAlone() throws {
    let late = [1, 2].map { MagicTokens.prefix + "1503" + paddedHex($0).suffix(52) }
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: late)
      let worker = try harness.startWorker {
        Self.strictly(&$0)
        $0.deliver.retry = RetryPolicy(initial: .seconds(20), maximum: .seconds(20))
        $0.straggleAfter = .milliseconds(100)
        $0.straggleDelay = .seconds(10)
      }
      harness.emit("e1", expiresIn: 120)
      _ = try harness.until("the segment has left stragglers") {
        harness.status("e1").map { $0.stragglers >= 1 ? true : nil } ?? nil
      }
      try Self.profile(harness, 0, "quiet", Self.quietNow(harness))
      let status = try harness.finished("e1")
      #expect(status.isBalanced && status.pushes == 2 && status.accepted == 1)
      #expect(status.cancelled == 1 && status.suppressed == 0)
      let reached = harness.counts(of: late)
      #expect(reached.map(\.accepted) == [0, 1])
      #expect(harness.stop(worker))
    }
  }
}
