import APNsSimulator
import Deliver
import Pipeline
import Record
import Rules
import Telemetry
import TestBed
import Testing

/// People whom an event may not reach, on the whole way: counters of Redis beside the simulator's
/// ledger.
@Suite(.serialized) struct RuleTests {
  /// From an hour before now to an hour behind it, by UTC.
  private static func quietNow() -> String {
    func clock(_ hours: Int64) -> String {
      String(
        WallClock.rfc3339(WallClock.nowMilliseconds() + hours * 3_600_000).dropFirst(11).prefix(5))
    }
    return "\(clock(-1))-\(clock(1))"
  }

  private static func strictly(_ options: inout PipelineOptions) {
    options.expand.rules = RecipientRules(
      mutesStreamers: true, timeZones: TimeZones(["UTC": .utc]), picksNewestDevice: true,
      eventsPerHour: 1)
  }

  private static func profile(_ bed: WorkerBed, _ user: Int, _ fields: String...) throws {
    _ = try bed.redis.cli(["HSET", "ffd:{u:s1-u\(user)}:profile"] + fields)
  }

  @Test func everyRuleCountsItsOwn() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: (0..<9).map(paddedHex))
    for old in 20...21 {
      let member = "apns:production:\(WorkerBed.app):\(paddedHex(old))"
      try bed.redis.cli("SADD", "ffd:{u:s1-u8}:bindings", member)
      try bed.redis.cli("HSET", "ffd:{u:s1-u8}:bound", member, "\(old)")
    }
    try Self.profile(bed, 0, "muted", "1")
    try Self.profile(bed, 1, "muted_streamers", "s2\ns1\ns3")
    try Self.profile(bed, 2, "muted_streamers", "s2\ns3")
    for user in 3...5 { try Self.profile(bed, user, "quiet", Self.quietNow(), "tz", "UTC") }
    try Self.profile(bed, 6, "quiet", "whenever")
    let now = String(WallClock.nowMilliseconds())
    try bed.redis.cli("ZADD", "ffd:{u:s1-u7}:reached", now, "another")
    let worker = try await bed.startWorker(Self.strictly)
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.isBalanced && status.recipients == 9 && status.pushes == 11)
    #expect(status.suppressedByRule == ["muted": 2, "quiet": 3, "device": 2, "cap": 1])
    #expect(status.suppressed == 8)
    #expect(status.accepted == 3 && status.skipped == 1)
    let summary = await bed.simulator.summary()
    #expect(summary.accepted == status.accepted && summary.duplicates == 0)
    let reached = await bed.simulator.counts(of: (0..<9).map(paddedHex)).map(\.accepted)
    #expect(reached == [0, 0, 1, 0, 0, 0, 1, 0, 1])
    #expect(summary.requests == 3, "no older device was asked for")
    #expect(await worker.stop())
    // All of them beside those of all time.
    let total = try bed.redis.cli("HMGET", "ff:{stats}:total", "suppressed", "suppressed:quiet")
    #expect(total.split(separator: "\n") == ["8", "3"])
  }

  /// Refused once, and then taken: what is left waits for its next try, and its owner goes to bed.
  @Test func whoGoesToBedBetweenTwoTriesIsLeftAlone() async throws {
    let late = [1, 2].map { MagicTokens.prefix + "1503" + paddedHex($0).suffix(52) }
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: late)
    let worker = try await bed.startWorker {
      Self.strictly(&$0)
      $0.deliver.retry = RetryPolicy(initial: .seconds(20), maximum: .seconds(20))
      $0.straggleAfter = .milliseconds(100)
      $0.straggleDelay = .seconds(10)
    }
    try await bed.emit("e1", expiresIn: 120)
    _ = try await bed.until("the segment has left stragglers") {
      try await bed.status("e1").map { $0.stragglers >= 1 ? true : nil } ?? nil
    }
    try Self.profile(bed, 0, "quiet", Self.quietNow())
    let status = try await bed.finished("e1")
    #expect(status.isBalanced && status.pushes == 2 && status.accepted == 1)
    #expect(status.cancelled == 1 && status.suppressed == 0)
    let reached = await bed.simulator.counts(of: late)
    #expect(reached.map(\.accepted) == [0, 1])
    #expect(await worker.stop())
  }
}
