import EventLoop
import Fixtures
import Ingest
import Kafka
import Model
import Record
import Redis
import ServerProcesses
import Telemetry
import Testing
import Threads

@testable import Pipeline

/// What a worker does about a running fan-out when Kafka has thrown records away.
@Suite(.serialized) struct LostSegmentsTests {
  private static let noon: Int64 = 1_795_262_400_000  // 2026-11-21T12:00:00Z
  private static let document = """
    {"id":"e1","app":"com.example.live","streamer":{"id":"s1","name":"Aiko"},\
    "stream":{"id":"b1","title":"Speedrun night"},"template":"go-live",\
    "occurred_at":"2026-11-21T12:00:00Z","expires_in":900}
    """

  /// Confined to one loop, as a lane's. The fan-out e1 has four segments in Kafka, of which the
  /// first has left stragglers.
  private final class Bed {
    let server: RedisServerProcess
    let loop: EventLoop
    let sink = MemorySink()
    let clock = ThreadLock(noon)
    let record: RecordStage
    let list: Segment
    private let options: PipelineOptions
    private let broker: EmbeddedBroker
    private let producer: KafkaProducer
    private var contexts: [LaneContext] = []
    private let event: Event

    init(_ loop: EventLoop) throws {
      self.loop = loop
      server = try RedisServerProcess()
      broker = try EmbeddedBroker(topics: [(IngestOptions().segmentsTopic, 1)])
      let kafka = KafkaOptions(bootstrapServers: broker.bootstrapServers)
      producer = try KafkaProducer(kafka) { _ in }
      var options = PumpBed.options(kafka, sink)
      options.redis = RedisOptions(port: server.port)
      options.wallClock = { [clock] in clock.withLock { $0 } }
      self.options = options
      let context = LaneContext(options, loop, producer)
      contexts = [context]
      record = context.record
      event = try context.ingest.event(document: Array(document.utf8))
      let straggler = Straggler(
        user: "u1", member: "apns:production:com.example.live:aa", history: PushHistory())
      list = Audience.sharded(shards: 4, generation: 1, followers: 0).segments(of: event)[0]
        .straggling([straggler], number: 7)
      context.redis.start()
    }

    func open() async throws {
      let audience = Audience.sharded(shards: 4, generation: 1, followers: 0)
      _ = try await record.open(
        event: event, audience: audience, source: "t/0/1", claim: nil, lifetime: .zero,
        now: noon)
      try await record.published(4, of: event, now: noon)
      _ = try await record.settle(
        audience.segments(of: event)[0], SegmentTally(), stragglers: [PlannedStragglers(list)],
        now: noon)
      try await record.handOver("e1", now: noon)
    }

    /// Of another worker each time, whose Redis is connected: a loss is as old as it is when it is
    /// asked for, not when a connection is there.
    func worker() async throws -> LostSegments {
      var options = options
      options.instance = "\(UInt64.random(in: .min ... .max))"
      let context = LaneContext(options, loop, producer)
      contexts.append(context)
      context.redis.start()
      _ = try await context.redis.execute(RedisPipeline(["PING"]))
      return LostSegments(context)
    }

    func overdue() -> OverdueFanOuts {
      OverdueFanOuts(contexts[0])
    }

    /// In which what waits is read again.
    var rest: Duration { options.straggleDelay + options.adoptAfter }

    /// What counts as lost.
    func dead() throws -> String { try server.cli("SMEMBERS", "ff:{e:e1}:dead_letters") }

    func advance(_ duration: Duration) {
      clock.withLock { $0 += duration.components.seconds * 1000 }
    }

    func end() {
      for context in contexts { context.redis.close() }
      producer.close(timeout: .seconds(1))
    }
  }

  private func run(
    _ body: @Sendable (isolated LoopActor, Bed) async throws -> Void
  ) async throws {
    try await EventLoop.temporary("test") {
      (lane: isolated LoopActor, loop: EventLoop) async throws in
      let bed = try Bed(loop)
      defer { bed.end() }
      try await bed.open()
      try await body(lane, bed)
    }
  }

  /// Two losses, and two workers that see the first of them.
  @Test func segmentsArePlannedAgainOnceAMinute() async throws {
    try await run { lane, bed in
      // Redis counts whole milliseconds: what was lost in that of a recovery is not covered by it.
      let first = bed.loop.now &- 2_000_000
      try await #expect(bed.worker().recover(lostAt: first) == nil)
      try await #expect(bed.worker().recover(lostAt: first) == nil)
      let delay = try await #require(bed.worker().recover(lostAt: bed.loop.now))
      #expect(delay > .zero && delay <= RecordStage.recoveryInterval)
      let lines = bed.sink.lines.filter { $0.contains("planned again") }
      #expect(lines.count == 1 && lines.first?.contains("\"segments\":3") == true)
    }
  }

  /// Somebody wrote to its keys by hand.
  @Test func aKeyOfAnotherTypeKeepsNoOtherFanOutAway() async throws {
    try await run { lane, bed in
      try bed.server.cli("HSET", "ff:{e:e0}", "state", "running", "plan", "named", "segments", "1")
      try bed.server.cli("SET", "ff:{e:e0}:settled", "x")
      try bed.server.cli("XADD", "ff:{stats}:fanouts", "*", "event", "e0")
      try await #expect(bed.worker().recover(lostAt: bed.loop.now) == nil)
      #expect(bed.sink.lines.count { $0.contains("segments that Kafka may have lost") } == 1)
      #expect(bed.sink.lines.count { $0.contains("are not planned again") } == 1)
    }
  }

  /// It has expired: they would be nobody's any more.
  @Test func segmentsOfAnEventThatIsOverAreNotPlannedAgain() async throws {
    try await run { lane, bed in
      bed.advance(.seconds(900))
      try await #expect(bed.worker().recover(lostAt: bed.loop.now) == nil)
      #expect(!bed.sink.lines.contains { $0.contains("planned again") })
    }
  }

  /// However its records were lost: the event is over, and nobody works on it.
  @Test func aFanOutThatNobodyWorksOnEndsWhenItsEventIsOver() async throws {
    try await run { lane, bed in
      let overdue = bed.overdue()
      let now = try await bed.record.time()
      func look(_ seen: String) async throws -> String {
        try bed.server.cli("HSET", "ff:{e:e1}", "expires_ms", "\(now - 1)", "overdue", seen)
        try await overdue.endAll()
        return try bed.server.cli("HGET", "ff:{e:e1}", "state")
      }
      bed.advance(.seconds(900))
      let wait = bed.rest.components.seconds * 1000
      #expect(try await look("\(now - wait + 60_000) \(now) 1") == "running")
      #expect(try await look("\(now - wait) \(now) 0") == "running", "one was settled since")
      let unseen = "\(now - wait - 61_000) \(now - 61_000) 1"
      #expect(try await look(unseen) == "running", "nobody looked")
      #expect(bed.sink.lines.isEmpty)
      #expect(try await look("\(now - wait) \(now) 1") == "incomplete")
      let dead = Set(try bed.dead().split(separator: "\n").map(String.init))
      #expect(dead == ["1.1", "1.2", "1.3", bed.list.id])
      let lines = bed.sink.lines.filter { $0.contains("fan-out incomplete") }
      #expect(lines.count == 1 && lines.first?.contains("\"dead_lettered\":4") == true)
    }
  }
}
