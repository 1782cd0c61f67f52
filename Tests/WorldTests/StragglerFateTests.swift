import APNsSimulator
import Deliver
import Kafka
import Model
import Pipeline
import Record
import Redis
import Telemetry
import Testing
import World

/// Stragglers that something else befalls: lost marks, small brokers, unknown templates, clocks.
@Suite struct StragglerFateTests {
  /// Refused once, and then taken.
  private static func late(_ number: Int) -> String {
    MagicTokens.prefix + "1503" + paddedHex(number).suffix(52)
  }

  private static func quickly(_ options: inout PipelineOptions) {
    options.deliver.retry = RetryPolicy(initial: .seconds(20), maximum: .seconds(20))
    options.straggleAfter = .milliseconds(100)
    options.straggleDelay = .seconds(1)
    options.claimLifetime = .seconds(1)
  }

  private static func settled(_ harness: WorldHarness, stragglers: Int) throws {
    _ = try harness.until("the segment is settled but for its stragglers") {
      harness.status("e1").map { $0.stragglers >= stragglers ? true : nil } ?? nil
    }
  }

  /// The follower is read a second time, with a name that no payload holds.
  @Test func whatIsSkippedOfAStragglersFollowerCountsOnce() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [Self.late(1)])
      harness.redis("HSET", "ffd:{u:s1-u0}:profile", "name", String(repeating: "n", count: 5_000))
      let worker = try harness.startWorker(Self.quickly)
      harness.emit("e1", expiresIn: 120)
      let status = try harness.finished("e1")
      #expect(status.accepted == 1 && status.stragglers == 1 && status.isBalanced)
      #expect(status.skipped == 1)
      #expect(harness.stop(worker))
    }
  }

  /// A fail-over that lost what the settling wrote: nobody else would send these pushes.
  @Test func whatRedisForgotIsSentAllTheSame() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [Self.late(1), Self.late(2), paddedHex(3)])
      // It does not come to read what it leaves behind.
      let first = try harness.startWorker {
        Self.quickly(&$0)
        $0.straggleDelay = .seconds(280)
      }
      try harness.ready()
      harness.emit("e1", expiresIn: 300)
      try Self.settled(harness, stragglers: 1)
      #expect(harness.stop(first))
      harness.redis("DEL", "ff:{e:e1}:settled", "ff:{e:e1}:stragglers")
      let worker = try harness.startWorker("worker-2") {
        Self.quickly(&$0)

      }
      for number in [1, 2] {
        _ = try harness.until("push \(number) arrives") {
          harness.counts(of: Self.late(number)).accepted == 1 ? true : nil
        }
      }
      let list = harness.redis("SMEMBERS", "ff:{e:e1}:stragglers")
      #expect(list.contains("~"))
      _ = try harness.until("the list is settled") {
        harness.redis("SISMEMBER", "ff:{e:e1}:settled", list) == "1" ? true : nil
      }
      let status = try #require(harness.status("e1"))
      #expect(status.accepted == 3 && status.isBalanced && status.stragglers == 2)
      #expect(harness.lines.contains { $0.contains("they are sent without it") })
      #expect(harness.summary.duplicates == 0)
      #expect(harness.stop(worker))
    }
  }

  /// The topic takes less than a list: it is cut until it fits.
  @Test func aListThatKafkaRefusesIsHalved() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: (0..<100).map { Self.late($0) })
      let worker = try harness.startWorker {
        Self.quickly(&$0)
        $0.kafka.maximumMessageBytes = 3000
      }
      try harness.ready()
      harness.emit("e1", expiresIn: 120)
      let status = try harness.finished("e1")
      #expect(status.accepted == 100 && status.pushes == 100 && status.isBalanced)
      #expect(status.stragglers >= 8 && status.settled == 1 + status.stragglers)
      #expect(harness.summary.duplicates == 0)
      #expect(harness.stop(worker))
    }
  }

  /// Longer than a segment waits: the time travels with the straggler, and others' do not wait.
  @Test func appleIsNotAskedAgainBeforeItWantsToBe() throws {
    var script = SimulatorScript()
    let refusal = Refusal(status: 503, reason: "ServiceUnavailable", retryAfter: 10)
    script.rules = [.init(tokens: [paddedHex(1)], steps: [.init(.refuse(refusal), times: 1)])]
    try WorldHarness.live(script: script) { harness in
      harness.follow("s1", tokens: [paddedHex(1), paddedHex(2), Self.late(3)])
      let worker = try harness.startWorker(Self.quickly)
      try harness.ready()
      harness.emit("e1", expiresIn: 120)
      _ = try harness.until("who did not ask for time is asked again") {
        harness.counts(of: Self.late(3)).accepted == 1 ? true : nil
      }
      #expect(harness.counts(of: paddedHex(1)).requests == 1)
      let status = try harness.finished("e1")
      #expect(status.accepted == 3 && status.isBalanced && status.stragglers == 2)
      #expect(harness.counts(of: paddedHex(1)).requests == 2)
      let waited = status.lastPushAt - status.firstPushAt
      #expect(waited >= 9_900 && waited < 60_000, "\(waited) ms")
      #expect(harness.stop(worker))
    }
  }

  /// Not even one push fits beside its event: it is given up by name, and all others go on.
  @Test func aPushThatKafkaRefusesAloneIsGivenUp() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [Self.late(1), paddedHex(2), Self.late(3)])
      let worker = try harness.startWorker {
        Self.quickly(&$0)
        $0.kafka.maximumMessageBytes = 1000
      }
      try harness.ready()
      let title = String(repeating: "t", count: 1000)
      let time = WallClock.rfc3339(harness.now)
      let event = """
        {"id":"e1","app":"\(WorldHarness.app)","streamer":{"id":"s1","name":"Aiko"},\
        "stream":{"id":"b1","title":"\(title)"},"template":"go-live",\
        "occurred_at":"\(time)","expires_in":60}
        """
      harness.append(event, key: "s1")
      let status = try harness.finished("e1")
      #expect(status.accepted == 1 && status.rejected == ["Unwritable": 2] && status.pushes == 3)
      #expect(status.isBalanced && status.stragglers == 0)
      let given = harness.lines.filter { $0.contains("is given up") }
      #expect(given.contains { $0.contains("s1-u0") } && given.contains { $0.contains("s1-u2") })
      #expect(harness.stop(worker))
    }
  }

  private static func record(
    _ harness: WorldHarness, _ id: String, user: Int, expiresIn: Int
  ) -> String {
    let time = WallClock.rfc3339(harness.now)
    let member = "apns:production:\(WorldHarness.app):\(paddedHex(user + 1))"
    return """
      {"event":{"id":"\(id)","app":"\(WorldHarness.app)","streamer":{"id":"s1","name":"Aiko"},\
      "stream":{"id":"b1","title":"T"},"template":"go-live","occurred_at":"\(time)",\
      "expires_in":\(expiresIn)},"id":"1.0~01","parent":"1.0",\
      "stragglers":[["s1-u\(user)","\(member)",1,0,0,false]],"segments":1}
      """
  }

  /// Everything was away for minutes, and the worker that comes back reads a list before the
  /// segment that it waits for.
  @Test func whileNobodyReadsAListItDoesNotWait() throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1)])
      let now = harness.now
      let headers = [
        KafkaHeader("fanfare-written", String(now - 300_000)),
        KafkaHeader("fanfare-not-before", String(now - 299_000)),
      ]
      harness.append(
        Self.record(harness, "e1", user: 0, expiresIn: 120), key: "e1", headers: headers,
        topic: "notify-followers.stragglers")
      let worker = try harness.startWorker(Self.quickly)
      _ = try harness.until("it was read") {
        harness.lines.contains { $0.contains("the segment that they left is not settled") }
          ? true : nil
      }
      harness.emit("e1", expiresIn: 120)
      let status = try harness.finished("e1")
      #expect(status.accepted == 1 && status.isBalanced && status.waiting == 0)
      #expect(!harness.lines.contains { $0.contains("they are sent without it") })
      #expect(harness.stop(worker))
      #expect(harness.summary.accepted == 1)
    }
  }

  /// While a new version is rolled out some workers know a template and others do not yet. Segments
  /// rest in the stragglers' topic like stragglers, however many they are.
  @Test(arguments: ["notify-followers.stragglers", "notify-followers.segments"])
  func aTemplateThatAnotherWorkerKnowsIsWaitedFor(_ topic: String) throws {
    try WorldHarness.live { harness in
      harness.follow("s1", tokens: [paddedHex(1), paddedHex(2)])
      let old = try harness.startWorker {
        Self.quickly(&$0)
        $0.templates = []
      }
      try harness.ready()
      for (id, user, expiresIn) in [("long", 0, 120), ("short", 1, 2)] {
        harness.redis("SADD", "ff:{e:\(id)}:stragglers", "1.0~01")
        let record = Self.record(harness, id, user: user, expiresIn: expiresIn)
        harness.append(record, key: id, topic: topic)
      }
      _ = try harness.until("what has expired is a dead letter") {
        harness.redis("HGET", "ff:{stats}:total", "dead_letters:unknown_template") == "1"
          ? true : nil
      }
      #expect(harness.lines.contains { $0.contains("is deferred") && $0.contains("not loaded") })
      #expect(harness.stop(old))
      let new = try harness.startWorker(Self.quickly)
      _ = try harness.until("the other one is sent") {
        harness.status("long").map { $0.accepted == 1 ? true : nil } ?? nil
      }
      #expect(harness.summary.accepted == 1)
      #expect(harness.stop(new))
    }
  }

  /// Nothing is sent after its expiry, whatever the worker's clock says.
  @Test func aClockThatIsBehindSendsNothingLate() throws {
    try WorldHarness.live { harness in
      harness.followInShards("s1", shards: 4, perShard: 5) { paddedHex($0 << 8 | $1) }
      let worker = try harness.startWorker {
        $0.lanes = 1
        $0.deliver.wallClock = harness.clock(ahead: -60_000)
      }
      try harness.ready()
      let now = harness.now
      harness.emit("e1", expiresIn: 30, occurredAt: now - 40_000)
      harness.emit("e2", expiresIn: 300, occurredAt: now)
      let late = try harness.finished("e1")
      #expect(late.expired == 20 && late.pushes == 20 && late.isBalanced && late.accepted == 0)
      #expect(try harness.finished("e2").accepted == 20)
      #expect(harness.summary.requests == 20)
      let said = harness.lines.filter { $0.contains("clock is behind Redis'") }
      #expect(said.count == 1)
      #expect(
        said.allSatisfy { $0.contains("milliseconds=6") || $0.contains("milliseconds=5") })
      #expect(harness.stop(worker))
    }
  }

}
