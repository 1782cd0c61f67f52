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

}
