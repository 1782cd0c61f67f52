import Checkout
import Dashboard
import JSON
import Testing

/// Workers, statistics, and what is wrong.
@Suite struct HealthViewTests {
  private func alerts(_ health: JSONObject) -> [String] {
    health.rows("alerts").compactMap { $0.text("what") }
  }

  @Test func workersAndStatisticsAreShown() async throws {
    try await DashboardHarness.run { harness in
      let now = harness.now
      try await harness.write(
        ["HSET", "ff:workers", "w1", String(now - 3_000)],
        [
          "HSET", "ff:worker:w1", "version", "1.0", "partitions", "6", "ready", "12", "lag", "40",
          "streams", "900", "connections", "3", "rss_bytes", "1000", "waits_for", "",
        ],
        ["HSET", harness.keyspace.statsDay(milliseconds: now), "accepted", "7", "events", "2"],
        [
          "HSET", harness.keyspace.statsMinute(milliseconds: now), "accepted", "5", "rejected", "1",
        ])
      let health = try await harness.look(at: .health)
      let worker = try #require(health.rows("workers").first)
      #expect(worker.text("id") == "w1" && worker["ready"] == .bool(true))
      #expect(worker.number("pushes_ready") == 12 && worker.number("beat_ms") == now - 3_000)
      #expect(worker["clock_ahead_ms"] == .null)
      let totals = health["totals"]?.object
      #expect(totals?.number("lag") == 40 && totals?.number("streams") == 900)
      let stats = try #require(health["stats"]?.object)
      #expect(stats["day"]?.object?.number("accepted") == 7)
      let minutes = stats.rows("minute")
      #expect(minutes.count == 60 && minutes.last?.number("ms") == now - now % 60_000)
      #expect(minutes.last?.number("accepted") == 5 && minutes.first?.number("accepted") == 0)
      #expect(alerts(health) == [])
    }
  }

  private static let refused = "to write dead letters to Kafka: the topic is missing"

  @Test(arguments: [
    (["beat_ms": "-7000", "beat_interval_ms": "2000"], "no heartbeat for 7 s", "a-worker-dies"),
    (["waits_for": "kafka: no broker can be reached"], "kafka: no broker", "kafka-is-down"),
    (["waits_for": refused], "the topic is missing", "dead-letters-are-refused"),
    (["waits_for": "to commit: kafka is forbidden"], "forbidden", "faults-of-kafka"),
    (["waits_for": "to claim: Redis is full"], "Redis is full", "faults-of-redis"),
    (
      ["waits_for": "to claim: this Redis is a replica"], "is a replica", "redis-is-a-replica"
    ),
    (
      ["held_routes": "production: unreachable (no answer for 3 s)"], "production: unreachable",
      "apple-answers-nothing"
    ),
    (["held_routes": "production: slow (x)"], "production: slow", "faults-of-apples-service"),
    (
      ["held_routes": "production a.b: InvalidProviderToken"], "InvalidProviderToken",
      "credentials-that-apple-refuses"
    ),
    (["lag": "5000"], "5000 records wait", "records-wait-in-kafka"),
    (["records_lost": "3"], "Kafka deleted 3 records", "records-that-kafka-deleted"),
    (["clock_ahead_ms": "-7000"], "7 s behind", "clocks-that-differ"),
    (
      ["templates_refused_ms": "5"], "w1 keeps its old templates",
      "a-changed-template-has-a-mistake"
    ),
  ])
  func whatIsWrongIsSaidWithARunbookThatExists(
    fields: [String: String], words: String, anchor: String
  ) async throws {
    try await DashboardHarness.run { harness in
      let beat = harness.now + (Int64(fields["beat_ms"] ?? "") ?? 0)
      try await harness.write(
        ["HSET", "ff:workers", "w1", String(beat)],
        ["HSET", "ff:worker:w1", "partitions", "1"] + fields.flatMap { [$0.key, $0.value] })
      let health = try await harness.look(at: .health)
      #expect(alerts(health).count == 1 && alerts(health)[0].contains(words), "\(alerts(health))")
      #expect(health.rows("alerts")[0].number("since_ms") == harness.now)
      harness.pass(9_000)
      try await harness.write(["HSET", "ff:workers", "w1", String(beat + 9_000)])
      let later = try await harness.look(at: .health)
      #expect(later.rows("alerts")[0].number("since_ms") == harness.now - 9_000)
      let runbook = try #require(health.rows("alerts")[0].text("runbook"))
      #expect(runbook == "docs/operations.md#\(anchor)")
      #expect(try Checkout.anchors(in: "docs/operations.md").contains(anchor))
    }
  }

  @Test func aSilentWorkerIsNotReady() async throws {
    try await DashboardHarness.run { harness in
      try await harness.write(
        ["HSET", "ff:workers", "w1", String(harness.now)],
        ["HSET", "ff:worker:w1", "partitions", "1", "beat_interval_ms", "2000"])
      for (silence, isSilent) in [(6_000, false), (6_001, true)] {
        try await harness.write(["HSET", "ff:workers", "w1", String(harness.now - Int64(silence))])
        let worker = try #require(try await harness.look(at: .health).rows("workers").first)
        #expect(worker["silent"] == .bool(isSilent) && worker["ready"] == .bool(!isSilent))
      }
    }
  }

  /// Of two workers the oldest counts. A text that is none of ours is passed over.
  @Test func credentialsHaveAges() async throws {
    try await DashboardHarness.run { harness in
      #expect(try await harness.look(at: .health)["credentials"] == .null)
      for (worker, seconds) in [("w1", 70), ("w2", 90)] {
        let since = harness.now - Int64(seconds) * 1_000
        try await harness.write(
          ["HSET", "ff:workers", worker, String(harness.now)],
          [
            "HSET", "ff:worker:\(worker)", "credentials",
            "fcm \(since); apns a.b \(since + 10_000); junk", "stream_limit", "500",
          ])
      }
      let health = try await harness.look(at: .health)
      let ages = health.rows("credentials")
      #expect(ages.map { $0.text("name") } == ["apns a.b", "fcm"])
      #expect(ages.map { $0.number("age_seconds") } == [80, 90])
      #expect(health["totals"]?.object?["stream_limit"] == .integer(1_000))
    }
  }

  /// Of a Redis that is full, and of what this process reads itself.
  @Test func otherAlertsHaveRunbooksThatExist() async throws {
    let broken = TemplateSample(name: "raid", texts: [], trouble: "raid.yaml:3:1: no such field")
    try await DashboardHarness.run({ $0.templates = TemplateSamples { _ in [broken] } }) {
      harness in
      try await harness.write([
        "HSET", harness.keyspace.statsMinute(milliseconds: harness.now), "dead_letters", "4",
      ])
      _ = try harness.redis.server.cli("CONFIG", "SET", "maxmemory", "1")
      let alerts = try await harness.look(at: .health).rows("alerts")
      let expected = [
        "redis memory": "redis-memory-is-full", "no worker": "a-worker-dies",
        "dead letters": "a-record-cannot-be-decoded",
        "template raid": "a-changed-template-has-a-mistake",
      ]
      #expect(alerts.count == expected.count)
      let anchors = try Checkout.anchors(in: "docs/operations.md")
      for alert in alerts {
        let anchor = expected[alert.text("name") ?? ""] ?? "none"
        #expect(alert.text("runbook") == "docs/operations.md#\(anchor)")
        #expect(anchors.contains(anchor), "\(anchor)")
      }
    }
  }

  @Test func obstaclesHaveTheirShareOfTheWorkersTime() async throws {
    try await DashboardHarness.run { harness in
      for worker in ["w1", "w2"] {
        try await harness.write(["HSET", "ff:workers", worker, String(harness.now)])
      }
      try await harness.write(
        ["HSET", "ff:worker:w2", "held_routes", "production: slow (late); sandbox a.b: Bad"])
      #expect(try await harness.look(at: .health)["obstacle_window_s"] == .null)
      for _ in 0..<4 {
        harness.pass(1_000)
        _ = try await harness.look(at: .health)
      }
      let health = try await harness.look(at: .health)
      let shares = health.rows("obstacle_shares")
      #expect(shares.map { $0.text("obstacle") } == ["production: slow", "sandbox: credentials"])
      #expect(shares.map { $0.number("percent") } == [50, 50])
      #expect(health.number("obstacle_window_s") == 10)
    }
  }

  @Test func deadLettersAndAFleetThatIsGoneAreSaid() async throws {
    try await DashboardHarness.run { harness in
      try await harness.write([
        "HSET", harness.keyspace.statsMinute(milliseconds: harness.now - 120_000), "dead_letters",
        "4",
      ])
      let said = alerts(try await harness.look(at: .health))
      #expect(said.contains { $0.contains("no worker") })
      #expect(said.contains { $0.hasPrefix("4 records went to the dead letters") })
    }
  }

  @Test func anOldTroubleOfATemplateIsAnAlert() async throws {
    let broken = TemplateSample(name: "raid", texts: [], trouble: "raid.yaml:3:1: no such field")
    try await DashboardHarness.run(
      { $0.templates = TemplateSamples { _ in [broken] } }
    ) { harness in
      let said = alerts(try await harness.look(at: .health))
      #expect(said.contains("the template raid: raid.yaml:3:1: no such field"))
      let templates = try await harness.look(at: .templates).rows("templates")
      #expect(templates.map { $0.text("name") } == ["raid"])
    }
  }
}
