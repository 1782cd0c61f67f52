import APNsSimulator
import Devices
import Telemetry
import TestBed
import Testing

/// Event in Kafka → followers in Redis → pushes at the simulator → counters in Redis.
@Suite(.serialized) struct WholeWayTests {
  @Test func pushesToEveryDeviceOfEveryFollowerOnce() async throws {
    let bed = try await WorkerBed()
    let audience = SyntheticAudience(
      followers: 10_000, seed: 7, topic: WorkerBed.app, deadTokenPrefix: "fa4efa4e0410")
    let totals = audience.totals()
    try await bed.seed(audience, streamer: "s1")
    let worker = try await bed.startWorker()
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    let summary = await bed.simulator.summary()
    #expect(await worker.stop())

    #expect(status.isBalanced)
    #expect(status.recipients == 10_000)
    #expect(status.pushes == totals.devices)
    #expect(status.suppressed == totals.mutedDevices)
    #expect(status.accepted == summary.accepted)
    #expect(status.rejected == summary.byReason)
    #expect(status.pruned == status.rejected["Unregistered"])
    #expect(summary.duplicates == 0)
    let tokens = (0..<audience.followers).flatMap { audience.addressedTokens($0) }
    let others = await bed.simulator.counts(of: tokens).count { $0.requests != 1 }
    #expect(others == 0)
  }
}
