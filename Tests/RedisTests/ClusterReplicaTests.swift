import Fixtures
import ServerProcesses
import Testing

@testable import Redis

/// Each master's replica answers reads of its slots.
@Suite struct ClusterReplicaTests {
  private func options(_ cluster: RedisClusterProcess) -> RedisOptions {
    var options = clusterOptions(cluster)
    options.replicaLagLimit = .seconds(10)
    return options
  }

  private static let keys = (0..<300).map { "k\($0)" }

  private func seed(_ cluster: RedisClusterProcess, _ lane: Lane) async throws {
    let set = try await lane.all(Self.keys.map { ["SET", $0, "value of \($0)"] })
    #expect(set.allSatisfy { $0 == "OK" })
    try await copied(lane)
    #expect(await lane.reads(from: cluster.replicas.count))
  }

  /// WAIT counts what its own connection has written.
  private func copied(_ lane: Lane) async throws {
    let counts = try await lane.run { lane in
      try await lane.client.executeOnMasters(RedisPipeline(["WAIT", "1", "60000"]))
        .map { $0.replies[0].integer }
    }
    #expect(counts == [1, 1, 1])
  }

  private func read(_ lane: Lane, _ keys: [String]) async throws -> [String] {
    try await lane.run { lane in
      let pipeline = RedisPipeline()
      for key in keys { pipeline.append("GET", key) }
      let replies = try await lane.client.execute(pipeline, mayLag: true)
      return (0..<replies.count).map { lane.shown(replies[$0]) }
    }
  }

  @Test func eachMastersReplicaAnswersForItAndAnotherWhenItIsPromoted() async throws {
    let cluster = try RedisClusterProcess()
    try await withLane(options(cluster)) { lane async throws in
      try await seed(cluster, lane)
      let wanted = Self.keys.map { "value of \($0)" }
      #expect(try await read(lane, Self.keys) == wanted)
      #expect(try cluster.masters.map { try $0.calls("get") } == [0, 0, 0])
      #expect(try cluster.replicas.reduce(0) { try $0 + $1.calls("get") } == Self.keys.count)
      #expect(await lane.replicas?.answered == 3)
      // Its keys have no replica then, and are the new master's to answer.
      try cluster.failOver(0)
      #expect(try await read(lane, Self.keys) == wanted)
      #expect(await lane.until { $0.replicas?.replicas.count == 2 })
      // It comes back as a replica of the one that was its own.
      try cluster.masters[0].start()
      #expect(await lane.reads(from: 3))
      try cluster.masters[0].cli("CONFIG", "RESETSTAT")
      #expect(try await read(lane, Self.keys) == wanted)
      #expect(try cluster.masters[0].calls("get") > 50)
    }
  }

  /// A replica does not know that its master's slot is on the move: it just lacks the keys.
  @Test func keysOnTheMoveAreFound() async throws {
    let cluster = try RedisClusterProcess()
    try await withLane(options(cluster)) { lane async throws in
      try await seed(cluster, lane)
      let keys = (0..<20).map { "{k7}:\($0)" }
      #expect(try await lane.all(keys.map { ["SET", $0, "moved"] }).allSatisfy { $0 == "OK" })
      let slot = RedisSlot("{k7}").number
      let old = try #require(try cluster.master(of: slot))
      let new = try #require(cluster.masters.first { $0 !== old })
      try cluster.beginMove(slot, from: old, to: new)
      try cluster.move(keys: Array(keys.prefix(10)), from: old, to: new)
      let index = try #require(cluster.masters.firstIndex { $0 === old })
      try cluster.wait("the replica to lack what was moved") {
        try cluster.replicas[index].cli("CLUSTER", "COUNTKEYSINSLOT", "\(slot)") == "11"
      }
      #expect(try await read(lane, keys) == keys.map { _ in "moved" })
      try cluster.endMove(slot, from: old, to: new)
      #expect(try await read(lane, keys) == keys.map { _ in "moved" })
      #expect(await lane.reads(from: 3))
    }
  }
}
