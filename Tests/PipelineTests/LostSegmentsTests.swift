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
    private let stages: LaneStages
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
      stages = LaneStages(options: options, loop: loop)
      record = stages.record
      event = try stages.ingest.event(document: Array(document.utf8))
      let straggler = Straggler(
        user: "u1", member: "apns:production:com.example.live:aa", history: PushHistory())
      list = Audience.sharded(shards: 4, generation: 1, followers: 0).segments(of: event)[0]
        .straggling([straggler], number: 7)
      stages.redis.start()
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

    /// Of another worker each time.
    func worker() -> LostSegments {
      var options = options
      options.instance = "\(UInt64.random(in: .min ... .max))"
      let retry = RetryUntilStopped(
        timers: CancellableTimers(loop: loop), log: options.log, randomFraction: { 0 })
      return LostSegments(
        options: options, loop: loop, ingest: stages.ingest, record: record, retry: retry,
        writer: RecordWriter(loop: loop, producer: producer, retry: retry),
        endings: FanOutEndings(log: options.log))
    }

    /// What `expires_in` says, and the time in which a straggler that is there is read again.
    var stragglersWait: Duration { .seconds(900) + options.straggleDelay + options.adoptAfter }

    /// What counts as lost.
    func dead() throws -> String { try server.cli("SMEMBERS", "ff:{e:e1}:dead_letters") }

    func advance(_ duration: Duration) {
      clock.withLock { $0 += duration.components.seconds * 1000 }
    }

    func end() {
      stages.redis.close()
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
      let first = bed.loop.now
      #expect(await bed.worker().recover(LostRecords(segments: first)) == NextLook())
      #expect(await bed.worker().recover(LostRecords(segments: first)) == NextLook())
      let next = await bed.worker().recover(LostRecords(segments: bed.loop.now))
      let delay = try #require(next.segments)
      #expect(delay > .zero && delay <= RecordStage.recoveryInterval && next.stragglers == nil)
      let lines = bed.sink.lines.filter { $0.contains("planned again") }
      #expect(lines.count == 1 && lines.first?.contains("\"segments\":3") == true)
    }
  }

  /// One of them may be lost, and all others are still there.
  @Test func stragglersCountAsLostOnlyWhenTheirTimeIsOver() async throws {
    try await run { lane, bed in
      let lost = LostRecords(stragglers: bed.loop.now)
      #expect(await bed.worker().recover(lost) == NextLook(stragglers: bed.stragglersWait))
      #expect(try bed.dead() == "")
      #expect(!bed.sink.lines.contains { $0.contains("are lost") })
      bed.advance(bed.stragglersWait)
      #expect(await bed.worker().recover(lost) == NextLook())
      let dead = try bed.dead()
      #expect(dead == bed.list.id)
      #expect(await bed.worker().recover(lost) == NextLook())
      #expect(bed.sink.lines.count { $0.contains("segments are lost") } == 1)
    }
  }

  /// It began long after the loss, which cannot have been its own.
  @Test func stragglersOfALaterFanOutAreNotLost() async throws {
    try await run { lane, bed in
      bed.advance(bed.stragglersWait)
      let longAgo = bed.loop.now &- (bed.stragglersWait + .seconds(120)).nanoseconds
      #expect(await bed.worker().recover(LostRecords(stragglers: longAgo)) == NextLook())
      let dead = try bed.dead()
      #expect(dead == "")
    }
  }
}
