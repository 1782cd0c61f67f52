import APNsSimulator
import Deliver
import Kafka
import Model
import Pipeline
import Record
import Redis
import ServerProcesses
import Telemetry
import TestBed
import Testing

/// Stragglers that something else befalls: lost marks, small brokers, unknown templates, clocks.
@Suite(.serialized) struct StragglerFateTests {
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

  private static func settled(_ bed: WorkerBed, stragglers: Int) async throws {
    _ = try await bed.until("the segment is settled but for its stragglers") {
      try await bed.status("e1").map { $0.stragglers >= stragglers ? true : nil } ?? nil
    }
  }

  /// The follower is read a second time, with a name that no payload holds.
  @Test func whatIsSkippedOfAStragglersFollowerCountsOnce() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [Self.late(1)])
    try bed.redis.cli("HSET", "ffd:{u:s1-u0}:profile", "name", String(repeating: "n", count: 5_000))
    let worker = try await bed.startWorker(Self.quickly)
    try await bed.emit("e1", expiresIn: 120)
    let status = try await bed.finished("e1")
    #expect(status.accepted == 1 && status.stragglers == 1 && status.isBalanced)
    #expect(status.skipped == 1)
    #expect(await worker.stop())
  }

  /// A fail-over that lost what the settling wrote: nobody else would send these pushes.
  @Test func whatRedisForgotIsSentAllTheSame() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [Self.late(1), Self.late(2), paddedHex(3)])
    // It does not come to read what it leaves behind.
    let first = try await bed.startWorker {
      Self.quickly(&$0)
      $0.straggleDelay = .seconds(280)
    }
    try await bed.ready()
    try await bed.emit("e1", expiresIn: 300)
    try await Self.settled(bed, stragglers: 1)
    #expect(await first.stop())
    _ = try bed.redis.cli("DEL", "ff:{e:e1}:settled", "ff:{e:e1}:stragglers")
    let worker = try await bed.startWorker {
      Self.quickly(&$0)
      $0.workerID = "worker-2"
    }
    for number in [1, 2] {
      _ = try await bed.until("push \(number) arrives") {
        await bed.simulator.counts(of: Self.late(number)).accepted == 1 ? true : nil
      }
    }
    let list = try bed.redis.cli("SMEMBERS", "ff:{e:e1}:stragglers")
    #expect(list.contains("~"))
    _ = try await bed.until("the list is settled") {
      try bed.redis.cli("SISMEMBER", "ff:{e:e1}:settled", list) == "1" ? true : nil
    }
    let status = try #require(try await bed.status("e1"))
    #expect(status.accepted == 3 && status.isBalanced && status.stragglers == 2)
    #expect(bed.sink.lines.contains { $0.contains("they are sent without it") })
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(await worker.stop())
  }

  /// The topic takes less than a list: it is cut until it fits.
  @Test func aListThatKafkaRefusesIsHalved() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: (0..<100).map { Self.late($0) })
    let worker = try await bed.startWorker {
      Self.quickly(&$0)
      $0.kafka.maximumMessageBytes = 3000
    }
    try await bed.ready()
    try await bed.emit("e1", expiresIn: 120)
    let status = try await bed.finished("e1")
    #expect(status.accepted == 100 && status.pushes == 100 && status.isBalanced)
    #expect(status.stragglers >= 8 && status.settled == 1 + status.stragglers)
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(await worker.stop())
  }

  /// Longer than a segment waits: the time travels with the straggler, and others' do not wait.
  @Test func appleIsNotAskedAgainBeforeItWantsToBe() async throws {
    var script = SimulatorScript()
    let refusal = Refusal(status: 503, reason: "ServiceUnavailable", retryAfter: 10)
    script.rules = [.init(tokens: [paddedHex(1)], steps: [.init(.refuse(refusal), times: 1)])]
    let bed = try await WorkerBed(script: script)
    try await bed.follow("s1", tokens: [paddedHex(1), paddedHex(2), Self.late(3)])
    let worker = try await bed.startWorker(Self.quickly)
    try await bed.ready()
    try await bed.emit("e1", expiresIn: 120)
    _ = try await bed.until("who did not ask for time is asked again") {
      await bed.simulator.counts(of: Self.late(3)).accepted == 1 ? true : nil
    }
    #expect(await bed.simulator.counts(of: paddedHex(1)).requests == 1)
    let status = try await bed.finished("e1")
    #expect(status.accepted == 3 && status.isBalanced && status.stragglers == 2)
    #expect(await bed.simulator.counts(of: paddedHex(1)).requests == 2)
    let waited = status.lastPushAt - status.firstPushAt
    #expect(waited >= 9_900 && waited < 60_000, "\(waited) ms")
    #expect(await worker.stop())
  }

  /// Not even one push fits beside its event: it is given up by name, and all others go on.
  @Test func aPushThatKafkaRefusesAloneIsGivenUp() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [Self.late(1), paddedHex(2), Self.late(3)])
    let worker = try await bed.startWorker {
      Self.quickly(&$0)
      $0.kafka.maximumMessageBytes = 1000
    }
    try await bed.ready()
    let title = String(repeating: "t", count: 1000)
    let time = WallClock.rfc3339(WallClock.nowMilliseconds())
    let event = """
      {"id":"e1","app":"\(WorkerBed.app)","streamer":{"id":"s1","name":"Aiko"},\
      "stream":{"id":"b1","title":"\(title)"},"template":"go-live",\
      "occurred_at":"\(time)","expires_in":60}
      """
    try await bed.emit(raw: Array(event.utf8), key: "s1")
    let status = try await bed.finished("e1")
    #expect(status.accepted == 1 && status.rejected == ["Unwritable": 2] && status.pushes == 3)
    #expect(status.isBalanced && status.stragglers == 0)
    let given = bed.sink.lines.filter { $0.contains("is given up") }
    #expect(given.contains { $0.contains("s1-u0") } && given.contains { $0.contains("s1-u2") })
    #expect(await worker.stop())
  }

  private static func record(_ id: String, user: Int, expiresIn: Int) -> [UInt8] {
    let time = WallClock.rfc3339(WallClock.nowMilliseconds())
    let member = "apns:production:\(WorkerBed.app):\(paddedHex(user + 1))"
    return Array(
      """
      {"event":{"id":"\(id)","app":"\(WorkerBed.app)","streamer":{"id":"s1","name":"Aiko"},\
      "stream":{"id":"b1","title":"T"},"template":"go-live","occurred_at":"\(time)",\
      "expires_in":\(expiresIn)},"id":"1.0~01","parent":"1.0",\
      "stragglers":[["s1-u\(user)","\(member)",1,0,0,false]],"segments":1}
      """.utf8)
  }

  /// Everything was away for minutes, and the worker that comes back reads a list before the
  /// segment that it waits for.
  @Test func whileNobodyReadsAListItDoesNotWait() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [paddedHex(1)])
    let now = WallClock.nowMilliseconds()
    let headers = [
      KafkaHeader("fanfare-written", String(now - 300_000)),
      KafkaHeader("fanfare-not-before", String(now - 299_000)),
    ]
    try await bed.emit(
      raw: Self.record("e1", user: 0, expiresIn: 120), key: "e1", headers: headers,
      topic: "notify-followers.stragglers")
    let worker = try await bed.startWorker(Self.quickly)
    _ = try await bed.until("it was read") {
      bed.sink.lines.contains { $0.contains("the segment that they left is not settled") }
        ? true : nil
    }
    try await bed.emit("e1", expiresIn: 120)
    let status = try await bed.finished("e1")
    #expect(status.accepted == 1 && status.isBalanced && status.waiting == 0)
    #expect(!bed.sink.lines.contains { $0.contains("they are sent without it") })
    #expect(await worker.stop())
    #expect(await bed.simulator.summary().accepted == 1)
  }

  /// While a new version is rolled out some workers know a template and others do not yet. Segments
  /// rest in the stragglers' topic like stragglers, however many they are.
  @Test(arguments: ["notify-followers.stragglers", "notify-followers.segments"])
  func aTemplateThatAnotherWorkerKnowsIsWaitedFor(_ topic: String) async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [paddedHex(1), paddedHex(2)])
    let old = try await bed.startWorker {
      Self.quickly(&$0)
      $0.templates = []
    }
    try await bed.ready()
    for (id, user, expiresIn) in [("long", 0, 120), ("short", 1, 2)] {
      _ = try bed.redis.cli("SADD", "ff:{e:\(id)}:stragglers", "1.0~01")
      let record = Self.record(id, user: user, expiresIn: expiresIn)
      try await bed.emit(raw: record, key: id, topic: topic)
    }
    _ = try await bed.until("what has expired is a dead letter") {
      try bed.redis.cli("HGET", "ff:{stats}:total", "dead_letters:unknown_template") == "1"
        ? true : nil
    }
    #expect(bed.sink.lines.contains { $0.contains("put off") && $0.contains("not loaded") })
    #expect(await old.stop())
    let new = try await bed.startWorker(Self.quickly)
    _ = try await bed.until("the other one is sent") {
      try await bed.status("long").map { $0.accepted == 1 ? true : nil } ?? nil
    }
    #expect(await bed.simulator.summary().accepted == 1)
    #expect(await new.stop())
  }

  /// Nothing is sent after its expiry, whatever the worker's clock says.
  @Test func aClockThatIsBehindSendsNothingLate() async throws {
    let bed = try await WorkerBed()
    try await bed.followInShards("s1", shards: 4, perShard: 5) { paddedHex($0 << 8 | $1) }
    let worker = try await bed.startWorker {
      $0.lanes = 1
      $0.deliver.wallClock = { WallClock.nowMilliseconds() - 60_000 }
    }
    try await bed.ready()
    let now = WallClock.nowMilliseconds()
    try await bed.emit("e1", expiresIn: 30, occurredAt: now - 40_000)
    try await bed.emit("e2", expiresIn: 300, occurredAt: now)
    let late = try await bed.finished("e1")
    #expect(late.expired == 20 && late.pushes == 20 && late.isBalanced && late.accepted == 0)
    #expect(try await bed.finished("e2").accepted == 20)
    #expect(await bed.simulator.summary().requests == 20)
    let said = bed.sink.lines.filter { $0.contains("clock is behind Redis'") }
    #expect(said.count == 1)
    #expect(said.allSatisfy { $0.contains("milliseconds\":6") || $0.contains("milliseconds\":5") })
    #expect(await worker.stop())
  }

  /// Redis settles, and its answer is lost: the worker tells of the end all the same.
  @Test func aSettlingWhoseAnswerIsLostIsToldOf() async throws {
    var script = SimulatorScript()
    script.latency = .milliseconds(500)
    let bed = try await WorkerBed(redis: RedisServerProcess(), script: script)
    try await bed.follow("s1", tokens: [paddedHex(1), paddedHex(2)])
    let worker = try await bed.startWorker {
      $0.redis.commandTimeout = .milliseconds(300)
      $0.heartbeatInterval = .seconds(600)
    }
    try await bed.ready()
    // Redis learns its scripts.
    try await bed.emit("e0", expiresIn: 120)
    _ = try await bed.finished("e0")
    try await bed.emit("e1", expiresIn: 120)
    _ = try await bed.until("the pushes are under way") {
      await bed.simulator.summary().requests == 4 ? true : nil
    }
    bed.redis.freeze()
    _ = try await bed.until("the worker waits for Redis") {
      bed.sink.lines.contains { $0.contains("waiting to write counters to Redis") } ? true : nil
    }
    bed.redis.resume()
    let status = try await bed.finished("e1")
    #expect(status.accepted == 2 && status.isBalanced)
    _ = try await bed.until("the worker says so") {
      bed.sink.lines.contains { $0.contains("fan-out done") && $0.contains("\"e1\"") }
        ? true : nil
    }
    #expect(await worker.stop())
    let counters = worker.counters.snapshot()
    #expect(counters[.segmentsSettled] == 2 && counters[.pushesAccepted] == 4)
  }
}
