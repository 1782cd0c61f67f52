import APNsSimulator
import Devices
import Pipeline
import ServerProcesses
import Telemetry
import TestBed
import Testing

/// Apple calls living devices gone, all at once, and takes it back.
@Suite(.serialized) struct RemovalWaveTests {
  private static let devices = 228

  private static func bound(_ bed: WorkerBed) throws -> Int {
    let keys = try bed.redis.cli("KEYS", "ffd:{u:s1-u*}:bindings")
    return keys.split(separator: "\n").count
  }

  /// Two workers, and twelve segments that they do at the same time.
  @Test func anAudienceIsNotEmptiedAndComesBack() async throws {
    var script = SimulatorScript()
    script.rules = [
      .init(
        prefix: "0",
        steps: [.init(.refuse(Refusal(status: 410, reason: "Unregistered", timestamp: .now)))])
    ]
    // One server, whose keys the test counts itself.
    let bed = try await WorkerBed(redis: RedisServerProcess(), script: script)
    try await bed.followInShards("s1", shards: 12, perShard: 19) { paddedHex(100 * $0 + $1) }
    var workers: [Worker] = []
    for number in 1...2 {
      workers.append(
        try await bed.startWorker {
          $0.workerID = "worker-\(number)"
          $0.lanes = 2
        })
    }
    try await bed.ready(workers: 2)
    try await bed.emit("e1")
    let status = try await bed.finished("e1")
    // Sending goes on.
    #expect(status.isBalanced && status.rejected == ["Unregistered": Self.devices])
    let left = try Self.bound(bed)
    #expect(left >= Self.devices - 9 && status.pruned == Self.devices - left)
    #expect(try bed.redis.cli("HGET", "ff:{e:e1}", "prune_withheld") == String(left))
    #expect(bed.sink.lines.contains { $0.contains("calls too many devices of this app gone") })
    for worker in workers { #expect(await worker.stop()) }
    // A worker counts what Redis has taken, so the fan-out may be done a little before.
    let withheld = workers.reduce(0) { $0 + $1.counters.snapshot()[.tokensPruneWithheld] }
    #expect(withheld == left)
    let keyspace = bed.keyspace
    var filter = QuarantineFilter()
    filter.prunedSince = 0
    let wanted = filter
    let restored = try await bed.withRedis { redis in
      var count = 0
      try await DeviceRestoration(redis: redis, keyspace: keyspace).run(wanted, writes: true) {
        count += $0.count { $0.fate == .restored }
        return true
      }
      return count
    }
    #expect(restored == Self.devices - left)
    #expect(try Self.bound(bed) == Self.devices)
  }
}
