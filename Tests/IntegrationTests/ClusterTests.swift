import APNsSimulator
import Devices
import Fixtures
import Glibc
import Kafka
import Processes
import Record
import ServerProcesses
import TestBed
import Testing

/// Whole fan-outs on a Redis Cluster of three masters, by worker processes.
@Suite(.serialized) struct ClusterTests {
  private static func dead(_ number: Int) -> String {
    MagicTokens.prefix + "0410" + paddedHex(number).suffix(52)
  }

  /// One shard and many; devices of every kind; rules and limits; a record that is none.
  @Test func everyOutcomeIsCountedOnce() async throws {
    let workers = 3
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: RedisClusterProcess.slowFailOver)
    let bed = try await WorkerBed(cluster: cluster)
    let audience = SyntheticAudience(
      followers: 2_000, seed: 7, topic: WorkerBed.app, deadTokenPrefix: "fa4efa4e0410")
    try await bed.seed(audience, streamer: "many", expecting: 30_000)
    try await bed.follow("one", tokens: (0..<200).map { $0 < 20 ? Self.dead($0) : paddedHex($0) })
    var processes: [ChildProcess] = []
    for number in 1...workers {
      processes.append(
        try bed.beginProcess(
          "w\(number)", executable: WorkerExecutable.path,
          settings: ["rules.events_per_hour=5", "limits.apps.\(WorkerBed.app)=50000"]))
    }
    for (index, process) in processes.enumerated() {
      try await bed.hasPartitions(process, "w\(index + 1)")
    }
    try await bed.emit(raw: Array("no event".utf8), key: "one")
    try await bed.emit("e1", streamer: "many")
    for number in 2...9 { try await bed.emit("e\(number)", streamer: "one") }
    var sums: [String: Int] = [:]
    for number in 1...9 {
      let status = try await bed.finished("e\(number)")
      #expect(status.state == .done && status.isBalanced, "e\(number)")
      for field in ["accepted", "pushes", "recipients", "suppressed", "pruned"] {
        sums[field, default: 0] += status.numbers[field] ?? 0
      }
      sums["segments", default: 0] += status.settled
    }
    let many = try #require(try await bed.status("e1"))
    let totals = audience.totals()
    #expect(many.pushes == totals.devices && many.suppressed == totals.mutedDevices)
    #expect(many.rejected["Unregistered"] == many.pruned && many.pruned > 0)
    // Nobody gets more than five of the eight, and a token that is gone is asked for once or, by
    // events that run at the same time, a few times.
    let some = await bed.simulator.counts(of: (20..<200).map(paddedHex))
    #expect(some.allSatisfy { $0.accepted == 5 && $0.requests == 5 })
    let summary = await bed.simulator.summary()
    #expect(summary.accepted == sums["accepted"])
    let nodes = cluster.addresses.joined(separator: ",")
    func fanOuts(_ arguments: String...) throws -> String {
      try ChildProcess.run(
        [WorkerExecutable.path, "fanout"] + arguments + ["--set", "redis.cluster=\(nodes)"])
    }
    #expect(try fanOuts("list").contains("e9"))
    #expect(try fanOuts("status", "e1").contains("done"))
    for process in processes { #expect(process.stop(SIGTERM) == 0) }
    sums["events"] = 9
    let keyspace = bed.keyspace
    let total = try await bed.withRedis { try await $0.table(keyspace.statsTotal) }
    for (field, sum) in sums { #expect(Int(total[field] ?? "0") == sum, "\(field)") }
    // One that the group takes from a worker while it writes the letter is written by the next too.
    let letters = try KafkaAdmin(
      KafkaOptions(bootstrapServers: bed.bootstrapServers), log: { _ in }
    )
    .ends(of: "notify-followers.dead-letters", timeout: .seconds(10)).values.reduce(0, +)
    #expect(letters >= 1)
    let counted = Int64(total["dead_letters"] ?? "0") ?? 0
    #expect((1...max(1, letters)).contains(counted), "\(counted) of \(letters)")
  }
}
