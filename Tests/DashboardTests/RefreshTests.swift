import Dashboard
import Fixtures
import JSON
import Redis
import Testing

@testable import HTTPServer

/// What a dashboard costs Redis, and what viewers get.
@Suite struct RefreshTests {
  /// Commands of the next ten refreshes.
  private static func cost(_ harness: DashboardHarness) async -> Int {
    func wait(_ refreshes: Int) async {
      while await harness.dashboard.metrics.refreshes < refreshes { await Task.yield() }
    }
    let begin = await harness.dashboard.metrics.refreshes + 1
    await wait(begin)
    let before = await harness.dashboard.metrics.commands
    await wait(begin + 10)
    return await harness.dashboard.metrics.commands - before
  }

  @Test func fiftyViewersCostAsMuchAsOne() async throws {
    try await DashboardHarness.run { harness in
      for number in 0..<10 {
        try await harness.enter("e\(number)", ["state": "running", "segments": "1"])
      }
      let first = try await harness.open(.fanOuts(limit: 100))
      let one = await Self.cost(harness)
      var others: [HTTPStateStream] = []
      for _ in 0..<49 { others.append(try await harness.open(.fanOuts(limit: 100))) }
      #expect(await harness.dashboard.metrics.viewers == 50)
      let all = await Self.cost(harness)
      // A refresh may end while its number is read.
      #expect(abs(all - one) <= one / 5, "\(one) \(all)")
      // Size and fields of each, and less than twenty besides.
      #expect(one <= 11 * (2 * 10 + 20), "\(one)")
      for stream in others + [first] { stream.over() }
      while await harness.dashboard.metrics.viewers > 0 { await Task.yield() }
    }
  }

  /// Those that have ended take turns.
  @Test func aThousandEndedFanOutsCostLittle() async throws {
    try await DashboardHarness.run { harness in
      try await harness.redis.run { client async throws in
        for number in 0..<1_000 {
          _ = try await client.ask("XADD", "ff:{stats}:fanouts", "*", "event", "e\(number)")
          _ = try await client.ask("HSET", "ff:{e:e\(number)}", "state", "done")
        }
      }
      let list = try await harness.look(at: .fanOuts(limit: 1_000))
      #expect(list.rows("fanouts").count == 1_000)
      #expect(list.rows("fanouts")[0].text("event") == "e999")
      let stream = try await harness.open(.fanOuts(limit: 1_000))
      harness.pass(11_000)
      let cost = await Self.cost(harness)
      // Size and fields of each, less than twenty besides, and as many titles.
      #expect(cost <= 11 * (2 * 40 + 20 + 20), "\(cost)")
      // All of them come in turn: one that was forgotten goes.
      try await harness.write(["DEL", "ff:{e:e0}"])
      harness.pass(11_000)
      while try await harness.look(at: .fanOuts(limit: 1_000)).rows("fanouts").count == 1_000 {
        harness.pass(1_000)
      }
      stream.over()
    }
  }

  /// Also one that is scheduled while somebody looks, and beside a thousand that have ended.
  @Test func whatIsScheduledIsListed() async throws {
    try await DashboardHarness.run { harness in
      try await harness.redis.run { client async throws in
        for number in 0..<1_000 {
          _ = try await client.ask("XADD", "ff:{stats}:fanouts", "*", "event", "e\(number)")
          _ = try await client.ask("HSET", "ff:{e:e\(number)}", "state", "done")
        }
      }
      func schedule(_ event: String) async throws {
        try await harness.set(event, ["state": "scheduled", "release_dead_letter": "not_json"])
        try await harness.write(["ZADD", "ff:{stats}:scheduled", "\(harness.now)", event])
      }
      try await schedule("first")
      let view = DashboardView.fanOuts(limit: 1_000)
      var rows = try await harness.look(at: view).rows("fanouts")
      #expect(rows[0].text("event") == "first" && rows[0].text("state") == "scheduled")
      #expect(rows[0].text("state_why") == "its release is in the dead letters: not_json")
      #expect(rows.count == 1_000)
      try await schedule("second")
      rows = try await harness.look(at: view).rows("fanouts")
      #expect(rows.count { $0.text("state") == "scheduled" } == 2)
      // It begins: once in the list, and the newest of those that have ended.
      try await harness.enter("first", ["state": "done"])
      rows = try await harness.look(at: view).rows("fanouts")
      #expect(rows.prefix(2).map { $0.text("event") } == ["second", "first"])
      #expect(rows.count { $0.text("event") == "first" } == 1)
    }
  }

  @Test func nobodyCostsNothing() async throws {
    try await DashboardHarness.run({ $0.refreshInterval = .milliseconds(1) }) { harness in
      _ = try await harness.look(at: .health)
      let stream = try await harness.open(.health)
      stream.over()
      while await harness.dashboard.metrics.viewers > 0 { await Task.yield() }
      // Each takes a part of an interval.
      func passTime() throws { for _ in 0..<50 { _ = try harness.redis.server.cli("PING") } }
      try passTime()
      let before = await harness.dashboard.metrics
      try passTime()
      #expect(await harness.dashboard.metrics == before)
    }
  }

  @Test func aStreamSendsWhatChangesAndNothingElse() async throws {
    try await DashboardHarness.run { harness in
      try await harness.enter("e1", ["state": "running", "segments": "2", "pushes": "1"])
      let stream = try await harness.open(.fanOuts(limit: 100))
      #expect(try await harness.next(of: stream).rows("fanouts")[0].number("pushes") == 1)
      // The first refresh finds the same.
      for _ in 0..<5 { _ = try await harness.look(at: .fanOuts(limit: 100)) }
      if case .state = stream.take() {}
      for _ in 0..<5 { _ = try await harness.look(at: .fanOuts(limit: 100)) }
      #expect(stream.take() == nil)
      try await harness.set("e1", ["pushes": "2"])
      #expect(try await harness.next(of: stream).rows("fanouts")[0].number("pushes") == 2)
      try await harness.enter("e2", ["state": "running", "segments": "1"])
      #expect(try await harness.next(of: stream).rows("fanouts").count == 2)
      stream.over()
    }
  }

  /// A page takes its clock from the state: an old time would make everything look fresh.
  @Test func aNewcomerToAStillViewGetsTheTimeOfNow() async throws {
    try await DashboardHarness.run { harness in
      try await harness.enter("e1", ["state": "done"])
      let view = DashboardView.fanOuts(limit: 100)
      let first = try await harness.open(view)
      // The refresh after which the first viewer has all that there is.
      for _ in 0..<2 { _ = try await harness.look(at: view) }
      harness.pass(60_000)
      let second = try await harness.open(view)
      let state = try await harness.next(of: second)
      #expect(state.number("now_ms") == harness.now)
      #expect(state.rows("fanouts").count == 1)
      for stream in [first, second] { stream.over() }
    }
  }

  @Test func aFanOutThatIsForgottenEndsItsStream() async throws {
    try await DashboardHarness.run { harness in
      try await harness.enter("e1", ["state": "done"])
      let stream = try await harness.open(.fanOut("e1"))
      _ = try await harness.next(of: stream)
      try await harness.write(["DEL", "ff:{e:e1}"])
      while true {
        if case .farewell = stream.take() { break }
        await Task.yield()
      }
      stream.over()
    }
  }

  @Test func withoutRedisTheLastDataStayWithTheirAge() async throws {
    try await DashboardHarness.run(
      isDurable: true, { $0.redis.commandTimeout = .milliseconds(200) }
    ) { harness in
      try await harness.enter("e1", ["state": "running", "segments": "2"])
      try await harness.write(["HSET", "ff:workers", "w1", String(harness.now)])
      let asOf = harness.now
      _ = try await harness.look(at: .fanOuts(limit: 100))
      harness.redis.server.stop()
      harness.pass(60_000)
      var list = try await harness.look(at: .fanOuts(limit: 100))
      while list["trouble"] == .null { list = try await harness.look(at: .fanOuts(limit: 100)) }
      #expect(list.text("trouble")?.hasPrefix("Redis does not answer: ") == true)
      #expect(list.number("as_of_ms") == asOf && list.number("now_ms") == asOf + 60_000)
      #expect(list.rows("fanouts").count == 1)
      // Nobody knows whether the worker lives.
      let alerts = try await harness.look(at: .health).rows("alerts")
      #expect(alerts.compactMap { $0.text("name") } == ["redis"])
      #expect(alerts.first?.text("what")?.hasPrefix("Redis does not answer") == true)
      #expect(alerts.first?.text("runbook") == "docs/operations.md#redis-is-down")
    }
  }

  /// One that takes no writes any more, and whose master is away.
  @Test func aReplicaIsNamedWithItsRunbookLine() async throws {
    try await DashboardHarness.run(
      isDurable: true, { $0.redis.commandTimeout = .milliseconds(200) }
    ) { harness in
      _ = try await harness.look(at: .health)
      _ = try harness.redis.server.cli("REPLICAOF", "127.0.0.1", "\(try DeadPort.number)")
      var health = try await harness.look(at: .health)
      while health["trouble"] == .null { health = try await harness.look(at: .health) }
      let alert = health.rows("alerts").first { $0.text("name") == "redis" }
      #expect(alert?.text("what")?.contains("is a replica") == true)
      #expect(alert?.text("runbook") == "docs/operations.md#redis-is-a-replica")
    }
  }

  @Test func aRedisThatNeverAnsweredIsSaidToBeUnreadable() async throws {
    try await DashboardHarness.run({
      $0.redis = RedisOptions(port: (try? DeadPort.number) ?? 1)
      $0.redis.commandTimeout = .milliseconds(50)
    }) { harness in
      guard case .unreadable(let why) = await harness.dashboard.look(at: .health) else {
        Issue.record("it was readable")
        return
      }
      #expect(why.hasPrefix("Redis does not answer"))
    }
  }

  @Test func aClosedDashboardEndsItsStreams() async throws {
    try await DashboardHarness.run { harness in
      let stream = try await harness.open(.health)
      _ = try await harness.next(of: stream)
      await harness.dashboard.close()
      #expect(stream.take() == .farewell(Array("event: gone\ndata: {}\n\n".utf8)))
      #expect(await harness.dashboard.look(at: .health) == .unreadable("the server stops"))
    }
  }
}
