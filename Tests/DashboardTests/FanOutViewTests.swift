import Dashboard
import JSON
import Testing

/// The list of fan-outs, and one of them.
@Suite struct FanOutViewTests {
  private static let running = [
    "state": "running", "streamer": "s42", "template": "go-live", "segments": "4", "settled": "0",
  ]

  @Test func thoseThatMayExpireComeFirstAndTheEndedLast() async throws {
    try await DashboardHarness.run { harness in
      let now = harness.now
      for (event, left) in [("calm", 900_000), ("pressed", 60_000), ("late", 300_000)] {
        try await harness.enter(
          event, Self.running.merging(["expires_ms": String(now + Int64(left))]) { $1 })
      }
      try await harness.enter("old", ["state": "done", "pushes": "3", "accepted": "3"])
      try await harness.enter("newer", ["state": "expired"])
      let list = try await harness.look(at: .fanOuts(limit: 100))
      #expect(
        list.rows("fanouts").map { $0.text("event") }
          == ["pressed", "late", "calm", "newer", "old"])
      #expect(list["trouble"] == .null && list.number("now_ms") == now)
      #expect(list.text("window") == "the newest 1,000 fan-outs of 7 days")
      let short = try await harness.look(at: .fanOuts(limit: 2))
      #expect(short.rows("fanouts").count == 2)
    }
  }

  @Test func numbersThatNobodyKnowsAreNull() async throws {
    try await DashboardHarness.run { harness in
      try await harness.enter(
        "e1", Self.running.merging(["started_ms": String(harness.now - 7_000)]) { $1 })
      let list = try await harness.look(at: .fanOuts(limit: 100))
      let row = try #require(list.rows("fanouts").first)
      for name in [
        "title", "state_why", "halted_by", "halted_at_ms", "first_push_ms", "last_push_ms",
        "ended_ms", "expires_ms", "expected_pushes", "rate", "seconds_left",
      ] { #expect(row[name] == .null, "\(name)") }
      for name in ["recipients", "pushes", "accepted", "rejected", "waiting", "dead_lettered"] {
        #expect(row.number(name) == 0, "\(name)")
      }
      #expect(list.number("oldest_unsent_ms") == 7_000)
    }
  }

  @Test func theListHasTheTitlesOfEvents() async throws {
    try await DashboardHarness.run { harness in
      func keep(_ title: String, of event: String) async throws {
        try await harness.write(
          ["SET", harness.keyspace.document(event: event), #"{"stream":{"title":"\#(title)"}}"#])
        try await harness.enter(event, ["state": "done"])
      }
      for number in 0..<23 { try await keep("Stream \(number)", of: "e\(number)") }
      try await keep(String(repeating: "é", count: 101), of: "long")
      try await harness.write(["SET", harness.keyspace.document(event: "odd"), "no JSON"])
      try await harness.enter("odd", ["state": "done"])
      func titles() async throws -> [String: String] {
        var titles: [String: String] = [:]
        for row in try await harness.look(at: .fanOuts(limit: 100)).rows("fanouts") {
          titles[row.text("event") ?? ""] = row.text("title")
        }
        return titles
      }
      // Twenty at a time, the newest first; the first of them has none.
      let first = try await titles()
      #expect(first.count == 19 && first["e22"] == "Stream 22" && first["e0"] == nil)
      let all = try await titles()
      #expect(all.count == 24 && all["e0"] == "Stream 0" && all["odd"] == nil)
      #expect(all["long"] == String(repeating: "é", count: 99) + "…")
    }
  }

  @Test func theRateSaysHowLongItGoesOn() async throws {
    try await DashboardHarness.run { harness in
      try await harness.enter(
        "e1", Self.running.merging(["settled": "1", "pushes": "1000", "accepted": "1000"]) { $1 })
      _ = try await harness.look(at: .fanOuts(limit: 1))
      harness.pass(5_000)
      try await harness.set("e1", ["settled": "2", "pushes": "2000", "accepted": "2000"])
      let row = try await harness.look(at: .fanOuts(limit: 1)).rows("fanouts")[0]
      #expect(row["rate"] == .double(200) && row.number("expected_pushes") == 4_000)
      #expect(row.number("seconds_left") == 10)
    }
  }

  @Test func statesAreToldWithTheirReasons() async throws {
    try await DashboardHarness.run { harness in
      let brake = ["brake": "paused", "brake_why": "typo", "brake_by": "ops", "brake_ms": "17"]
      try await harness.enter("paused", Self.running.merging(brake) { $1 })
      try await harness.enter("limited", Self.running)
      try await harness.enter(
        "waiting",
        Self.running.merging(["settled": "4", "waiting": "9", "obstacle": "sandbox: slow"]) { $1 })
      try await harness.enter("lost", ["state": "incomplete", "dead_lettered": "2"])
      try await harness.write(
        ["HSET", "ff:workers", "w1", String(harness.now)],
        ["HSET", "ff:worker:w1", "limits", "app a: 9 pushes a second; event limited: 5 a second"])
      var rows: [String: JSONObject] = [:]
      for row in try await harness.look(at: .fanOuts(limit: 100)).rows("fanouts") {
        rows[row.text("event") ?? ""] = row
      }
      #expect(rows["paused"]?.text("state") == "paused")
      #expect(rows["paused"]?.text("state_why") == "typo")
      #expect(rows["paused"]?.text("halted_by") == "ops")
      #expect(rows["paused"]?.number("halted_at_ms") == 17)
      #expect(rows["limited"]?.text("state") == "limited")
      #expect(rows["limited"]?.text("state_why") == "event limited: 5 a second")
      #expect(rows["waiting"]?.text("state") == "waiting")
      #expect(rows["waiting"]?.text("state_why") == "sandbox: slow")
      #expect(rows["lost"]?.text("state") == "incomplete")
      #expect(rows["lost"]?.text("state_why")?.contains("2") == true)
    }
  }

  @Test func oneFanOutShowsWhereEachPushWasLost() async throws {
    try await DashboardHarness.run { harness in
      try await harness.enter(
        "e1",
        Self.running.merging([
          "recipients": "90", "pushes": "100", "accepted": "60", "rejected:Unregistered": "10",
          "rejected:Unrenderable": "3", "rejected:NoRoute": "2", "expired": "5",
          "suppressed": "20", "suppressed:muted": "12", "suppressed:quiet": "8", "skipped": "1",
        ]) { $1 })
      try await harness.write(
        ["SET", "ffd:{e:e1}:document", #"{"id":"e1","stream":{"title":"Speedrun"}}"#],
        [
          "HSET", "ff:{e:e1}:claims", "7.0", "w1/a/0.1 99", "7.1", "w0/x/0.2 5 > w2/b/1.4 77",
          "7.2", "w1/a/0.3 0",
        ])
      let detail = try await harness.look(at: .fanOut("e1"))
      #expect(detail.text("title") == "Speedrun")
      #expect(detail["document"]?.object?["id"]?.string == "e1")
      let funnel = detail.rows("funnel").map { step in
        let lost = step.rows("lost").map { "-\($0.number("count") ?? 0) \($0.text("why") ?? "")" }
        return ([step.text("name") ?? "", "\(step.number("count") ?? -1)"] + lost)
          .joined(separator: " ")
      }
      #expect(
        funnel == [
          "followers 90", "devices 100 -1 skipped: Redis holds something else",
          "after rules 80 -12 muted -8 quiet", "rendered 77 -3 Unrenderable",
          "sent 70 -5 expired -2 NoRoute", "accepted 60 -10 Unregistered",
        ])
      let rejected = detail.rows("outcomes").first { $0.text("reason") == "Unregistered" }
      #expect(rejected?.text("platform") == "apns" && rejected?.number("count") == 10)
      #expect(rejected?.text("advice") == "mend Unregistered of apns")
      let segments = detail.rows("slowest_segments")
      #expect(segments.map { $0.text("segment") } == ["7.1", "7.0"])
      #expect(segments.map { $0.text("worker") } == ["w2", "w1"])
      #expect(segments.map { $0.number("since_ms") } == [harness.now, harness.now])
      #expect(await harness.dashboard.look(at: .fanOut("nobody")) == .unknown)
    }
  }
}
