import Deliver
import EventLoop
import Fixtures
import Keyspace
import Model
import Record
import Redis
import ServerProcesses
import Telemetry
import Testing
import Transport

@testable import Pipeline

/// One master of a Redis Cluster says nothing any more. What a lane does now and then for each of
/// its events goes on at once for those that other masters have.
@Suite struct SilentMasterTests {
  /// Confined to one loop, as a lane's.
  private final class Bed {
    let loop: EventLoop
    let context: LaneContext
    let runs: SegmentRuns
    let claims: SegmentClaims
    let leases: LimitLeases
    let controls: FanOutControlWatch
    /// Of the master that falls silent; they are there before the others.
    private(set) var silent: [SegmentRun] = []
    private(set) var others: [SegmentRun] = []
    private let cluster: RedisClusterProcess
    private let keyspace = Keyspace()

    init(_ cluster: RedisClusterProcess, _ loop: EventLoop) throws {
      self.loop = loop
      self.cluster = cluster
      var options = PumpBed.options(.init(bootstrapServers: ""), MemorySink())
      options.redis.clusterNodes = cluster.nodes.map { .init(host: "127.0.0.1", port: $0.port) }
      // Nobody gives up before the test is over.
      options.redis.commandTimeout = .seconds(900)
      options.redis.checkInterval = .seconds(900)
      context = LaneContext(options, loop)
      let segments = SegmentRunner(context, clock: ClockWatch(context))
      runs = segments.runs
      claims = segments.claims
      leases = segments.leases
      controls = FanOutControlWatch(context, segments)
      let slots = 0..<(RedisSlot.count * 2 / 3)
      let events = (0..<100).map { "e\($0)" }
      let isSilent = { [keyspace] in !slots.contains(RedisSlot(keyspace.event(id: $0)).number) }
      silent = events.filter(isSilent).prefix(6).map(begin)
      others = events.filter { !isSilent($0) }.prefix(4).map(begin)
      #expect(silent.count == 6 && others.count == 4)
      context.redis.start()
    }

    private func begin(_ id: String) -> SegmentRun {
      let event = Event(
        id: id, app: "a.b", streamer: "s1", stream: "b1", template: "go-live", occurredAt: 0,
        expiresAt: .max, pushesPerSecond: 100, fields: [:], document: [])
      let segment = Segment(event: event, slice: .shard(index: 0, generation: 1), count: 1)
      let run = runs.make(Claim(segment: segment, owner: "w"), recordBytes: 0, LaneSlot {})
      runs.begin(run)
      return run
    }

    func another(_ run: SegmentRun) -> SegmentRun {
      runs.make(Claim(segment: run.segment, owner: "another"), recordBytes: 0, LaneSlot {})
    }

    func fill() throws {
      for master in cluster.masters { try master.cli("CONFIG", "SET", "maxmemory", "1") }
    }

    func empty() throws {
      for master in cluster.masters { try master.cli("CONFIG", "SET", "maxmemory", "0") }
    }

    func silence() { cluster.masters[2].freeze() }

    func end() {
      context.redis.close()
      cluster.masters[2].resume()
    }

    /// By another client than the lane's.
    func claims(of runs: [SegmentRun]) throws -> Int {
      try runs.count {
        try cluster.masters[0].cli("EXISTS", keyspace.claims(id: $0.segment.event.id)) == "1"
      }
    }

    func forget() async throws {
      for run in others { _ = try await ask("DEL", keyspace.claims(id: run.segment.event.id)) }
    }

    func areClaimed(_ runs: [SegmentRun]) async throws -> Bool {
      for run in runs {
        let found = try await ask("EXISTS", keyspace.claims(id: run.segment.event.id))
        if found.integer != 1 { return false }
      }
      return true
    }

    func pause(_ runs: [SegmentRun]) async throws {
      for run in runs {
        _ = try await ask("HSET", keyspace.event(id: run.segment.event.id), "brake", "paused")
      }
    }

    /// Every limit has pushes to give, and none is left of it.
    func use(_ runs: [SegmentRun]) {
      for limit in runs.flatMap(\.tally.fanOut.limits) { limit.take(max(1, limit.tokens)) }
    }

    private func ask(_ words: String...) async throws -> RedisReply {
      let replies = try await context.redis.execute(RedisPipeline(words))
      if let error = replies[0].error { throw error }
      return replies[0]
    }

    /// Two minutes at most.
    func until(_ what: String, _ condition: () async throws -> Bool) async throws {
      for _ in 0..<12_000 {
        if try await condition() { return }
        await loop.wait(.milliseconds(10))
      }
      Issue.record("waited two minutes for: \(what)")
    }
  }

  private func run(
    _ body: @Sendable (isolated LoopActor, Bed) async throws -> Void
  ) async throws {
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: ["--cluster-require-full-coverage", "no"])
    try await EventLoop.temporary("test") {
      (lane: isolated LoopActor, loop: EventLoop) async throws in
      let bed = try Bed(cluster, loop)
      defer { bed.end() }
      try await body(lane, bed)
    }
  }

  @Test func claimsOfOtherEventsAreRenewedInTime() async throws {
    try await run { lane, bed in
      bed.claims.renew()
      try await bed.until("all to be claimed") { try await bed.areClaimed(bed.silent + bed.others) }
      try await bed.forget()
      bed.silence()
      bed.claims.renew()
      try await bed.until("the others to be claimed") { try await bed.areClaimed(bed.others) }
    }
  }

  /// A lane that stops waits for Redis a moment only.
  @Test func claimsOfOtherEventsAreReleased() async throws {
    try await run { lane, bed in
      bed.claims.renew()
      try await bed.until("all to be claimed") { try await bed.areClaimed(bed.silent + bed.others) }
      bed.silence()
      await bed.claims.releaseAll()
      #expect(try bed.claims(of: bed.others) == 0)
    }
  }

  /// Nor is a claim renewed of which the run ended before its turn came.
  @Test func aClaimThatWasReleasedDoesNotComeBack() async throws {
    try await run { lane, bed in
      bed.claims.renew()
      try await bed.until("all to be claimed") { try await bed.areClaimed(bed.silent + bed.others) }
      // The script is there from now on, so that what is sent first comes first.
      for run in bed.others {
        await bed.claims.release(bed.another(run))
      }
      #expect(try bed.claims(of: bed.others) == 4)
      var releases: [Task<Void, Never>] = []
      for run in bed.others {
        releases.append(
          bed.loop.task(on: lane) {
            bed.runs.end(run)
            await bed.claims.release(run)
          })
      }
      bed.claims.renew()
      for release in releases { await release.value }
      // Whatever the lane has asked before has its answer by now.
      #expect(try await bed.areClaimed(bed.silent))
      #expect(try bed.claims(of: bed.others) == 0)
    }
  }

  @Test func limitsOfOtherEventsGiveTheirPushes() async throws {
    try await run { lane, bed in
      let all = bed.silent + bed.others
      let limits = all.flatMap(\.tally.fanOut.limits)
      #expect(limits.count == 10)
      bed.use(all)
      try await bed.until("all to have some") {
        bed.leases.renew(isolation: lane)
        return limits.allSatisfy { $0.tokens > 0 }
      }
      bed.silence()
      bed.use(all)
      try await bed.until("the others to have some") {
        bed.leases.renew(isolation: lane)
        return bed.others.flatMap(\.tally.fanOut.limits).allSatisfy { $0.tokens > 0 }
      }
    }
  }

  /// Redis that is full gives out nothing: pushes wait for it, and the worker says so.
  @Test func aLimitThatRedisGivesNothingOfIsWaitedFor() async throws {
    try await run { lane, bed in
      bed.use(bed.others)
      try await bed.until("all to have some") {
        bed.leases.renew(isolation: lane)
        return bed.others.flatMap(\.tally.fanOut.limits).allSatisfy { $0.tokens > 0 }
      }
      #expect(bed.leases.waitsFor.isEmpty)
      try bed.fill()
      bed.use(bed.others)
      try await bed.until("the limits to wait") {
        bed.leases.renew(isolation: lane)
        return bed.leases.waitsFor.count >= bed.others.count
      }
      let first = try #require(bed.leases.waitsFor.first)
      #expect(first.cause == .redis && first.text.contains("OOM"))
      #expect(first.text.hasPrefix("pushes of a limit (event e"))
      #expect(bed.context.redisRoundTrips.failures > 0)
      try bed.empty()
      try await bed.until("nothing to wait") {
        bed.leases.renew(isolation: lane)
        return bed.leases.waitsFor.isEmpty
      }
    }
  }

  @Test func otherEventsObeyWhoStopsThem() async throws {
    try await run { lane, bed in
      try await bed.pause(bed.silent + bed.others)
      bed.silence()
      bed.controls.check()
      try await bed.until("the others to be paused") {
        bed.others.allSatisfy { $0.tally.fanOut.halt == .paused }
      }
      #expect(bed.silent.allSatisfy { $0.tally.fanOut.halt == nil })
    }
  }
}
