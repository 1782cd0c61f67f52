import APNsSimulator
import Pipeline
import ServerProcesses
import Telemetry
import TestBed
import Testing

/// A segment that takes its time under a claim that does not.
@Suite(.serialized) struct ClaimedSegmentTests {
  /// Sixty pushes, one after the other, 100 ms each.
  private static func bed(_ redis: RedisServerProcess? = nil) async throws -> WorkerBed {
    var script = SimulatorScript()
    script.latency = .milliseconds(100)
    let bed = try await WorkerBed(redis: redis, script: script)
    try await bed.follow("s1", tokens: (0..<60).map { paddedHex($0) })
    return bed
  }

  private static func slowly(_ options: inout PipelineOptions) {
    options.lanes = 1
    options.deliver.connectionsPerRoute = 1
    options.deliver.streamsPerConnection = 1
    options.claimLifetime = .seconds(3)
    options.heartbeatInterval = .milliseconds(100)
  }

  private static func sent(_ bed: WorkerBed, _ count: Int) async throws {
    _ = try await bed.until("\(count) are sent") {
      await bed.simulator.summary().accepted >= count ? true : nil
    }
  }

  @Test func aClaimIsRenewedAsLongAsItTakes() async throws {
    let bed = try await Self.bed()
    let worker = try await bed.startWorker(Self.slowly)
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.accepted == 60 && status.isBalanced)
    // What may not be sent would leave as stragglers.
    #expect(status.stragglers == 0)
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(!bed.sink.lines.contains { $0.contains("another worker has the segment") })
    #expect(try bed.redis.cli("HLEN", "ff:{e:e1}:claims") == "0")
    #expect(await worker.stop())
  }

  @Test func aSegmentThatAnotherWorkerHasIsLeftToIt() async throws {
    let bed = try await Self.bed()
    let worker = try await bed.startWorker(Self.slowly)
    try await bed.emit("e1")
    try await Self.sent(bed, 5)
    let segment = try bed.redis.cli("HKEYS", "ff:{e:e1}:claims")
    let end = WallClock.nowMilliseconds() + 300_000
    _ = try bed.redis.cli("HSET", "ff:{e:e1}:claims", segment, "worker-9/x/0.1 \(end)")
    _ = try await bed.until("the record is put aside") {
      try bed.redis.cli("HGET", "ff:worker:worker-1", "records_aside") == "1" ? true : nil
    }
    #expect(bed.sink.lines.contains { $0.contains("another worker has the segment") })
    let before = await bed.simulator.summary().accepted
    #expect(before < 60)
    #expect(try await bed.status("e1")?.settled == 0)
    // The other one is gone, and all is sent again: what it did is not known here.
    _ = try bed.redis.cli("HDEL", "ff:{e:e1}:claims", segment)
    let status = try await bed.finished("e1")
    #expect(status.accepted == 60 && status.settled == 1 && status.isBalanced)
    #expect(await bed.simulator.summary().accepted == 60 + before)
    #expect(await worker.stop())
  }

  /// Its owner died long ago.
  @Test func aTakeoverIsToldOf() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: [paddedHex(1)])
    let worker = try await bed.startWorker()
    try await bed.emit("e1")
    _ = try await bed.finished("e1")
    let segment = try bed.redis.cli("SMEMBERS", "ff:{e:e1}:settled")
    _ = try bed.redis.cli("HSET", "ff:{e:e2}:claims", segment, "worker-9/x/0.1 77")
    try await bed.emit("e2")
    #expect(try await bed.finished("e2").accepted == 1)
    let metrics = await worker.metrics().text
    #expect(metrics.contains("\nfanfare_claims_taken_over_total 1\n"))
    #expect(await worker.stop())
    let told = bed.sink.lines.filter { $0.contains("took over a segment") }
    #expect(told.count == 1 && told.allSatisfy { $0.contains("\"from\":\"worker-9/x/0.1\"") })
    #expect(told.allSatisfy { $0.contains("\"event\":\"e2\"") })
  }

  /// The mark is there, and only replicas lack it: it is this worker's own.
  @Test func whatWaitsForReplicasIsNotCalledAnothers() async throws {
    let bed = try await Self.bed(RedisServerProcess())
    let replica = try RedisServerProcess(options: ["--replicaof", "127.0.0.1", "\(bed.redis.port)"])
    _ = try await bed.until("the replica is there") {
      try replica.cli("INFO", "replication").contains("master_link_status:up") ? true : nil
    }
    let worker = try await bed.startWorker {
      Self.slowly(&$0)
      $0.redis.replicasToWaitFor = 1
    }
    try await bed.emit("e1")
    try await Self.sent(bed, 5)
    replica.kill()
    _ = try await bed.until("it is settled") {
      try bed.redis.cli("SCARD", "ff:{e:e1}:settled") == "1" ? true : nil
    }
    // Only a renewal asks whether a segment is settled.
    let before = try Self.renewals(bed)
    _ = try await bed.until("two renewals find it so") {
      try Self.renewals(bed) >= before + 2 ? true : nil
    }
    try replica.start()
    let status = try await bed.finished("e1")
    #expect(status.accepted == 60 && status.isBalanced)
    #expect(await worker.stop())
    #expect(!bed.sink.lines.contains { $0.contains("another worker has") })
  }

  private static func renewals(_ bed: WorkerBed) throws -> Int {
    let line = try bed.redis.cli("INFO", "commandstats").split(whereSeparator: \.isNewline)
      .first { $0.hasPrefix("cmdstat_sismember:calls=") }
    return line.flatMap { Int($0.drop { $0 != "=" }.dropFirst().prefix { $0.isNumber }) } ?? 0
  }

  /// Its event expires while another worker has the claim, and that one is gone: what it had sent
  /// nobody knows.
  @Test func whatExpiresUnderAnothersClaimIsCounted() async throws {
    let bed = try await Self.bed()
    let name = "1.0"
    let worker = try await bed.startWorker(Self.slowly)
    try await bed.ready()
    let end = WallClock.nowMilliseconds() + 8000
    _ = try bed.redis.cli("HSET", "ff:{e:e1}:claims", name, "worker-9/x/0.1 \(end)")
    try await bed.emit("e1", expiresIn: 3)
    let status = try await bed.finished("e1")
    #expect(status.state == .done && status.settled == 1)
    #expect(status.rejected == ["Unanswered": 60] && status.expired == 0)
    #expect(status.pushes == 60 && status.isBalanced)
    #expect(await bed.simulator.summary().requests == 0)
    #expect(await worker.stop())
  }

  @Test func aWorkerThatStopsKeepsNobodyWaiting() async throws {
    let bed = try await Self.bed()
    let first = try await bed.startWorker {
      Self.slowly(&$0)
      $0.claimLifetime = .seconds(600)
      $0.drainTimeout = .zero
    }
    try await bed.emit("e1")
    try await Self.sent(bed, 5)
    let isDone = await first.stop()
    #expect(!isDone)
    // Of what may have been sent the name stays, with a claim that nobody waits for.
    let claims = try bed.redis.cli("HVALS", "ff:{e:e1}:claims").split(separator: "\n")
    #expect(claims.count == 1 && claims.allSatisfy { $0.hasSuffix(" 0") }, "\(claims)")
    let second = try await bed.startWorker { $0.workerID = "worker-2" }
    #expect(try await bed.finished("e1").accepted == 60)
    #expect(await second.stop())
  }
}
