import Fixtures
import Keyspace
import Model
import Testing

@testable import Record

/// What dashboards read beside the events themselves.
@Suite struct StatisticsTests {
  @Test func theSummaryIsPlainDecimals() async throws {
    let fixture = try RedisFixture()
    try await fixture.run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let big = tally(accepted: 4_000_000_000_000_000)
      big.count(.rejected(.badTopic), times: 3_000_000_000_000_000)
      _ = try await record.settle(segments("e1", 1)[0], big, now: noon)
    }
    let entry = try fixture.server.cli("XRANGE", keyspace.statsEvents, "-", "+")
    let lines = entry.split(separator: "\n").map(String.init)
    func value(_ field: String) -> String? {
      lines.firstIndex(of: field).map { lines[$0 + 1] }
    }
    #expect(value("accepted") == "4000000000000000")
    #expect(value("rejected") == "3000000000000000")
    #expect(value("event") == "e1" && value("state") == "done" && value("pruned") == "0")
    #expect(value("done_ms") == String(noon))
  }

  @Test func heartbeatsVanishAndSeriesPointsAreOnePerInterval() async throws {
    try await RedisFixture().run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let fields = [(name: "version", value: "1"), (name: "rss", value: "12345")]
      #expect(try await record.heartbeat(worker: "w1", instance: "a", fields, now: noon) == nil)
      #expect(
        try await redis.table(keyspace.worker(id: "w1"))
          == ["version": "1", "rss": "12345", "instance": "a"])
      #expect(try await record.heartbeat(worker: "w1", instance: "b", fields, now: noon) == "a")
      #expect(try await record.heartbeat(worker: "w1", instance: "b", fields, now: noon) == "b")
      let left = Int(try await redis.ask("TTL", keyspace.worker(id: "w1")) ?? "") ?? 0
      #expect(left > 0 && left <= 60)
      _ = try await record.settle(segments("e1", 1)[0], tally(accepted: 4), now: noon)
      #expect(try await record.appendSeriesPoint(now: noon + 1_000))
      #expect(try await !record.appendSeriesPoint(now: noon + 9_999))
      #expect(try await record.appendSeriesPoint(now: noon + 10_000))
      #expect(try await redis.ask("XLEN", keyspace.statsSeries) == "2")
    }
  }

  @Test func aPointHoldsTheCountersOfAllTime() async throws {
    let fixture = try RedisFixture()
    try await fixture.run { redis async throws in
      let record = RecordStage(redis: redis, keyspace: keyspace)
      let own = tally(accepted: 4)
      own.count(.rejected(.badTopic), times: 2)
      own.pushes += 2
      _ = try await record.settle(segments("e1", 1)[0], own, now: noon)
      try await record.countDeadLetters([:], receipt: "0", now: noon)
      try await record.countDeadLetters(
        ["not_json": 2, "tombstone": 1], receipt: "1", now: noon)
      for _ in 0..<2 {
        try await record.countDeadLetters(["not_json": 5], receipt: "2", now: noon)
      }
      #expect(try await record.appendSeriesPoint(now: noon + 7))
      for key in [
        keyspace.statsTotal, keyspace.statsDay(milliseconds: noon),
        keyspace.statsMinute(milliseconds: noon),
      ] {
        let stats = try await redis.table(key)
        #expect(stats["dead_letters"] == "8" && stats["dead_letters:not_json"] == "7", "\(key)")
        #expect(stats["dead_letters:tombstone"] == "1", "\(key)")
      }
      let day = try await redis.ask("TTL", keyspace.statsDay(milliseconds: noon))
      let minute = try await redis.ask("TTL", keyspace.statsMinute(milliseconds: noon))
      #expect(Int(day ?? "") ?? 0 > 86_400 && Int(minute ?? "") ?? 0 > 0)
    }
    let point = try fixture.server.cli("XRANGE", keyspace.statsSeries, "-", "+")
    let lines = point.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(lines.first == "\(noon)-0")
    let fields = Dictionary(
      uniqueKeysWithValues: stride(from: 1, to: lines.count - 1, by: 2).map {
        (lines[$0], lines[$0 + 1])
      })
    let expected = [
      "pushes": "6", "accepted": "4", "rejected": "2", "recipients": "4", "segments": "1",
      "events_done": "1", "dead_letters": "8", "expired": "0", "pruned": "0",
    ]
    for (name, value) in expected { #expect(fields[name] == value, "\(name)") }
    #expect(Set(fields.keys) == Set(RecordStage.seriesFields))
  }
}
