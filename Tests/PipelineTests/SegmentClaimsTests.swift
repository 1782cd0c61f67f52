import EventLoop
import Fixtures
import Kafka
import Keyspace
import Model
import Record
import Redis
import ServerProcesses
import Telemetry
import Testing
import Threads

@testable import Pipeline

/// What is known of a segment that another worker had begun, and what the next one hears of this.
@Suite struct SegmentClaimsTests {
  /// Confined to one loop, as a lane's.
  private final class Bed {
    let claims: SegmentClaims
    let clock = ThreadLock<Int64>(0)
    private let server: RedisServerProcess
    private let context: LaneContext
    private let runs: SegmentRuns
    private let key = Keyspace().claims(id: "e1")

    init(_ loop: EventLoop) throws {
      server = try RedisServerProcess()
      var options = PumpBed.options(.init(bootstrapServers: ""), MemorySink())
      options.redis = RedisOptions(port: server.port)
      options.wallClock = { [clock] in clock.withLock { $0 } }
      context = LaneContext(options, loop)
      let segments = SegmentRunner(context, clock: ClockWatch(context))
      runs = segments.runs
      claims = segments.claims
      context.redis.start()
    }

    /// A run whose event expires then, and its bid.
    func run(
      expiresAt: Int64 = .max, isolation: isolated any Actor = #isolation
    ) -> (run: SegmentRun, bid: SegmentBid) {
      let event = Event(
        id: "e1", app: "a.b", streamer: "s1", stream: "b1", template: "go-live", occurredAt: 0,
        expiresAt: expiresAt, fields: [:], document: [])
      let segment = Segment(event: event, slice: .shard(index: 0, generation: 1), count: 1)
      let bid = claims.bid(on: segment)
      return (runs.make(bid.claim, recordBytes: 0, LaneSlot {}), bid)
    }

    func ask(_ run: SegmentRun, _ bid: SegmentBid) async throws -> ClaimResult {
      let message = KafkaMessage(
        topic: PumpBed.topic, partition: 0, offset: 0, key: nil, value: [], timestamp: 0)
      return try await claims.ask(bid, for: run, from: message).result
    }

    /// Of which the worker hears nothing.
    func askInVain(_ bid: SegmentBid) async throws {
      _ = try await context.record.claim(bid.claim, lifetime: .seconds(60), now: 0)
    }

    func redisTime() async throws -> Int64 { try await context.record.time() }

    /// What Redis says of who has the segment.
    func claim() throws -> String { try server.cli("HGET", key, "1.0") }
    func set(_ claim: String) throws { try server.cli("HSET", key, "1.0", claim) }

    var takeovers: Int { context.counters.snapshot()[.claimsTakenOver] }

    func end() { context.redis.close() }
  }

  private func run(
    _ body: @Sendable (isolated LoopActor, Bed) async throws -> Void
  ) async throws {
    try await EventLoop.temporary("test") {
      (lane: isolated LoopActor, loop: EventLoop) async throws in
      let bed = try Bed(loop)
      defer { bed.end() }
      try await body(lane, bed)
    }
  }

  /// A worker that died, and one that stopped in order with pushes in flight.
  @Test(arguments: [("w2/1/0.1 77", 1), ("w2/1/0.1 0", 0)])
  func onlyAnEndedClaimIsTakenOver(_ claim: String, takeovers: Int) async throws {
    try await run { lane, bed in
      try bed.set(claim)
      let (run, bid) = bed.run()
      guard case .yours = try await bed.ask(run, bid) else {
        Issue.record("it is nobody's")
        return
      }
      #expect(run.tally.mayHaveBeenSent && bed.takeovers == takeovers)
    }
  }

  /// The connection to Redis breaks behind the script that took the segment over, and once more.
  @Test func aFormerOwnerIsKnownWhenTheAnswerWasLost() async throws {
    try await run { lane, bed in
      try bed.set("w2/1/0.1 77")
      let (run, bid) = bed.run()
      try await bed.askInVain(bid)
      for _ in 0..<2 { _ = try await bed.ask(run, bid) }
      #expect(run.tally.mayHaveBeenSent && bed.takeovers == 1)
    }
  }

  /// As when its counters cannot be written for good: what it sent is in nobody's outcomes.
  @Test(arguments: [0, 5] as [Int64])
  func whoHasSentLeavesItsName(firstPushAt: Int64) async throws {
    try await run { lane, bed in
      let (run, bid) = bed.run()
      _ = try await bed.ask(run, bid)
      run.tally.firstPushAt = firstPushAt
      await bed.claims.release(run)
      let left = try bed.claim()
      #expect(left == (firstPushAt > 0 ? "\(run.claim.owner) 0" : ""))
    }
  }

  /// The script that opened the event named a former owner; its claim in Redis is younger.
  @Test func aClockThatIsAheadForgetsNoFormerOwner() async throws {
    try await run { lane, bed in
      let now = try await bed.redisTime()
      bed.clock.withLock { $0 = now + 600_000 }
      let (run, bid) = bed.run(expiresAt: now + 300_000)
      let former = FormerOwner(name: "w2/1/0.1", hasReleased: true)
      bed.claims.noteFormer(of: run, .yours(redisTime: now, takenFrom: former))
      do {
        _ = try await bed.ask(run, bid)
        Issue.record("the clocks differ")
      } catch let error as RecordError {
        #expect(error.clockAhead != nil)
      }
      let left = try bed.claim()
      #expect(left == "\(run.claim.owner) 0")
    }
  }
}
