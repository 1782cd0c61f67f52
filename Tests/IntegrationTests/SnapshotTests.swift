import Keyspace
import Pipeline
import TestBed
import Testing
import Text

/// Workers that read users from snapshots, while others write to the users as they please.
@Suite(.serialized) struct SnapshotTests {
  private static let shards = 8
  private static let perShard = 40

  /// A device of a test: the ids of `followInShards`.
  private struct Device: Hashable {
    let user: String
    let token: String
    var member: String { "apns:production:\(WorkerBed.app):\(token)" }
  }

  /// As `followInShards` gives them to users.
  private static func devices() -> Set<Device> {
    var counts = [Int](repeating: 0, count: shards)
    var devices: Set<Device> = []
    for user in (0...).lazy.map({ "s1-u\($0)" }) {
      let shard = Keyspace.shard(of: user, shards: shards)
      guard counts[shard] < perShard else { continue }
      devices.insert(Device(user: user, token: paddedHex(shard << 16 | counts[shard])))
      counts[shard] += 1
      if devices.count == shards * perShard { break }
    }
    return devices
  }

  private static func start(_ bed: WorkerBed, _ id: String) async throws -> Worker {
    try await bed.startWorker {
      $0.workerID = id
      $0.expand.keepsSnapshots = true
      $0.redis.trackingInterval = .milliseconds(20)
    }
  }

  private static func figure(_ name: String, _ worker: Worker) async -> Int {
    let name = "fanfare_redis_snapshot_\(name) "
    let line = await worker.metrics().text.split(separator: "\n").first { $0.hasPrefix(name) }
    return line.flatMap { Int($0.dropFirst(name.count)) } ?? 0
  }

  private static func hits(_ worker: Worker) async -> Int {
    await figure("reads_total{result=\"hit\"}", worker)
  }

  /// Before each event somebody logs out, in and elsewhere, with plain commands. Workers come and
  /// go, and lose what tells them of writes. Each event reaches the devices that were there when it
  /// was written, once, and no other.
  @Test func eachEventReachesWhoeverIsThereAndNobodyElse() async throws {
    let bed = try await WorkerBed()
    try await bed.followInShards("s1", shards: Self.shards, perShard: Self.perShard) {
      paddedHex($0 << 16 | $1)
    }
    var random = SplitMix64(seed: 1)
    var devices = Self.devices()
    // On a cluster only who has a profile gets a snapshot.
    for device in devices {
      try bed.redis.cli("HSET", bed.keyspace.profile(user: device.user), "name", device.user)
    }
    var expected: [String: Int] = [:]
    var workers = [
      try await Self.start(bed, "worker-0"), try await Self.start(bed, "worker-1"),
    ]
    try await bed.ready(workers: 2)
    let first = workers[0]
    _ = try await bed.until("snapshots are trusted") {
      await Self.figure("servers{state=\"trusted\"}", first) > 0 ? true : nil
    }
    var seen = 0
    for round in 0..<9 {
      for number in 0..<6 {
        let sorted = devices.sorted { $0.token < $1.token }
        let device = try #require(sorted.randomElement(using: &random))
        let key = bed.keyspace.bindings(user: device.user)
        if number % 2 == 0 {
          devices.remove(device)
          try bed.redis.cli("SREM", key, device.member)
        } else {
          let new = Device(user: device.user, token: paddedHex(0x5eed_0000 | round << 8 | number))
          devices.insert(new)
          try bed.redis.cli("SADD", key, new.member)
        }
      }
      try await bed.emit("e\(round)")
      let status = try await bed.finished("e\(round)")
      #expect(status.accepted == devices.count && status.isBalanced, "round \(round)")
      for device in devices { expected[device.token, default: 0] += 1 }
      switch round {
      case 5:
        for node in bed.cluster?.masters ?? [bed.redis] {
          try node.cli("CLIENT", "KILL", "TYPE", "pubsub")
        }
      case 3, 7:
        seen += await Self.hits(workers[0])
        #expect(await workers[0].stop())
        workers[0] = try await Self.start(bed, "worker-\(round)")
      default: break
      }
    }
    for worker in workers { seen += await Self.hits(worker) }
    #expect(seen > 200, "some come from snapshots")
    let tokens = expected.keys.sorted()
    let counts = await bed.simulator.counts(of: tokens)
    for (token, count) in zip(tokens, counts) {
      #expect(count.accepted == expected[token], "\(token)")
    }
    for worker in workers { #expect(await worker.stop()) }
  }
}
