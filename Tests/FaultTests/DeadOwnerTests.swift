import APNsSimulator
import Glibc
import Record
import Telemetry
import TestBed
import Testing

/// What a worker had sent when it died and nobody recorded: Apple may have taken it, so that its
/// pushes are not called expired, nor cancelled.
@Suite(.serialized) struct DeadOwnerTests {
  /// So many of twenty have an answer, which dies with the worker.
  private static let answered = 10

  @Test func whatADeadWorkerMayHaveSentIsNotExpired() async throws {
    let bed = try await Self.bedWithADeadWorker(expiresIn: 5)
    let over = WallClock.nowMilliseconds() + 5000
    _ = try await bed.until("the event is over") {
      WallClock.nowMilliseconds() > over ? true : nil
    }
    try await Self.expectUnanswered(in: bed)
  }

  @Test func whatADeadWorkerMayHaveSentIsNotCancelled() async throws {
    let bed = try await Self.bedWithADeadWorker(expiresIn: 600)
    _ = try await bed.withRedis { redis in
      try await RecordStage(redis: redis, keyspace: bed.keyspace)
        .setBrake(.cancelled, of: "e1", reason: "test", now: WallClock.nowMilliseconds())
    }
    try await Self.expectUnanswered(in: bed)
  }

  private static func bedWithADeadWorker(expiresIn: Int) async throws -> WorkerBed {
    var script = SimulatorScript()
    script.silentAfter = answered
    let bed = try await WorkerBed(script: script)
    try await bed.follow("s1", tokens: (0..<20).map { paddedHex($0) })
    let victim = try await bed.startProcess(
      "victim", executable: WorkerExecutable.path, settings: ["lanes.claim_lifetime=2s"])
    try await bed.emit("e1", expiresIn: expiresIn)
    _ = try await bed.until("half of it has no answer") {
      await bed.simulator.summary().unanswered >= 10 ? true : nil
    }
    victim.stop(SIGKILL)
    return bed
  }

  private static func expectUnanswered(in bed: WorkerBed) async throws {
    let heir = try await bed.startWorker { $0.claimLifetime = .seconds(2) }
    let status = try await bed.finished("e1")
    #expect(status.accepted == 0 && status.expired == 0 && status.cancelled == 0)
    #expect(status.rejected == ["Unanswered": 20] && status.isBalanced)
    #expect(await bed.simulator.summary().accepted == answered)
    #expect(await heir.stop())
  }
}
