import APNsSimulator
import Deliver
import Model
import Record
import Redis
import Telemetry
import TestBed
import Testing

/// What APNs may answer, and what then stands in Redis and in the ledger.
@Suite(.serialized) struct APNsAnswerTests {
  @Test func givesEachAnswerItsOutcome() async throws {
    let bed = try await WorkerBed()
    // One token an answer, in the simulator's own language (MagicTokens).
    let codes = [
      "0400", "0401", "0402", "0403", "0410", "0411", "0412", "0413", "1429", "2500", "1503",
      "150d", "1e02", "1e07", "1e08", "0200",
    ]
    // And enough that are taken to show that environment and app are right.
    let healthy = (0..<40).map { paddedHex(0xA000 + $0) }
    try await bed.follow("s1", tokens: codes.map(token) + healthy)
    let worker = try await bed.startWorker()
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.isBalanced && status.pushes == codes.count + healthy.count)
    #expect(
      status.rejected == [
        "BadDeviceToken": 1, "DeviceTokenNotForTopic": 1, "TopicDisallowed": 1, "Forbidden": 1,
        "Unregistered": 2, "ExpiredToken": 1, "PayloadTooLarge": 1,
      ])
    #expect(status.accepted == 8 + healthy.count)
    // One or two fewer when a GOAWAY puts a push back, which is no try.
    #expect((6...8).contains(status.retried))
    // 410 and 411 are stamped now, after the binding: pruned. 412 is older than its binding: kept.
    #expect(status.pruned == 2)
    #expect(status.pruneRefused == 1)
    #expect(status.quarantined == 2)
    #expect(try bindings(bed, of: 4) == "")
    #expect(try bindings(bed, of: 6).contains(token("0412")))
    #expect(try bindings(bed, of: 0) == "")
    #expect(try bed.redis.cli("HKEYS", "ffd:{u:s1-u0}:quarantined").contains(token("0400")))
    #expect(await bed.simulator.summary().duplicates == 0)
    #expect(await worker.stop())
  }

  /// Sockets that are closed in the middle. What else befalls connections is a scenario.
  @Test func losesNothingWhenConnectionsGo() async throws {
    var script = SimulatorScript()
    script.dropAfter = 100
    let bed = try await WorkerBed(script: script)
    let plain = (0..<800).map { paddedHex($0) }
    try await bed.follow("s1", tokens: plain)
    let worker = try await bed.startWorker { $0.deliver.streamsPerConnection = 50 }
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    #expect(status.accepted == 800 && status.isBalanced)
    let lost = await bed.simulator.counts(of: plain).count { $0.accepted == 0 }
    #expect(lost == 0)
    #expect(await worker.stop())
  }

  private func bindings(_ bed: WorkerBed, of index: Int) throws -> String {
    try bed.redis.cli("SMEMBERS", "ffd:{u:s1-u\(index)}:bindings")
  }

  private func token(_ code: String) -> String { token(code, filler: "b") }

  private func token(_ code: String, filler: Character) -> String {
    let start = MagicTokens.prefix + code
    return start + String(repeating: filler, count: 64 - start.count)
  }
}
