import Fixtures
import Keyspace
import Model
import Redis
import ServerProcesses
import Testing

@testable import Expand

/// Snapshots at the masters of a cluster: of each only by its own word.
@Suite struct SnapshotClusterTests {
  private static func slot(_ user: String) -> Int {
    RedisSlot(keyspace.bindings(user: user)).number
  }

  @Test func aPageComesFromEachMastersSnapshots() async throws {
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: RedisClusterProcess.slowFailOver)
    try await SnapshotBed.run(SnapshotBed.options(cluster)) { bed async throws in
      let lanes = [try await bed.trustingLane(servers: 3), try await bed.trustingLane(servers: 3)]
      for lane in lanes { try await lane.warm(bed.users.count) }
      for (index, user) in bed.users.enumerated() {
        try cluster.masters[0].cli("SADD", keyspace.bindings(user: user), member("aabb"))
        let reading = try await lanes[index % 2].read()
        #expect(Set(reading.tokens[user] ?? []) == [token(user), "aabb"])
      }
    }
  }

  /// Each master would else be asked for a third of what pays for asking.
  @Test func pagesOfLargeEventsAreAsLargeForEachMasterAsForOneRedis() async throws {
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: RedisClusterProcess.slowFailOver)
    try await SnapshotBed.run(SnapshotBed.options(cluster), users: 100) { bed async throws in
      let lane = bed.lane(pageSize: 10)
      _ = try await lane.redis.ask("PING")
      #expect(lane.redis.masterCount == 3)
      #expect(try await lane.read().pageSizes == [34, 33, 33])
      // A small event waits for no more than is configured.
      #expect(try await lane.read(shard(0, of: 1)).pageSizes.max() == 10)
    }
  }

  /// A slot goes to another master and comes back; on its way it is written to.
  @Test func aSlotOnTheMoveTakesNoTrustAlong() async throws {
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: RedisClusterProcess.slowFailOver)
    try await SnapshotBed.run(SnapshotBed.options(cluster)) { bed async throws in
      let lane = try await bed.trustingLane(servers: 3)
      try await lane.warm(bed.users.count)
      let user = bed.users[0]
      let slot = Self.slot(user)
      let old = try #require(try cluster.master(of: slot))
      let new = try #require(cluster.masters.first { $0 !== old })
      for (number, (source, target)) in [(old, new), (new, old), (old, new)].enumerated() {
        try cluster.beginMove(slot, from: source, to: target)
        // The snapshot before the set, then the set, then the rest; written to at each step.
        let keys = [
          keyspace.snapshot(user: user), keyspace.bindings(user: user),
          keyspace.profile(user: user),
        ]
        for (step, key) in keys.enumerated() {
          if try source.cli("CLUSTER", "GETKEYSINSLOT", "\(slot)", "100").contains(key) {
            try cluster.move(keys: [key], from: source, to: target)
          }
          let new = "aabb\(number)\(step)"
          try cluster.masters[2].cli("SADD", keyspace.bindings(user: user), member(new))
          #expect(try await lane.read().tokens[user]?.contains(new) == true)
        }
        try cluster.endMove(slot, from: source, to: target)
        let last = "ccdd0\(number)"
        try cluster.masters[2].cli("SADD", keyspace.bindings(user: user), member(last))
        #expect(try await lane.read().tokens[user]?.contains(last) == true)
        try await lane.warm(bed.users.count)
      }
    }
  }

  /// To a node that nobody has listened to the slot goes, is written to there, and comes back.
  @Test func whatCameFromWhereNobodyListenedIsNotTrusted() async throws {
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: RedisClusterProcess.slowFailOver)
    let stranger = try cluster.addMaster(options: RedisClusterProcess.slowFailOver)
    try await SnapshotBed.run(SnapshotBed.options(cluster)) { bed async throws in
      let lane = try await bed.trustingLane(servers: 3)
      try await lane.warm(bed.users.count)
      let user = bed.users[0]
      let slot = Self.slot(user)
      let old = try #require(try cluster.master(of: slot))
      try cluster.beginMove(slot, from: old, to: stranger)
      try cluster.endMove(slot, from: old, to: stranger)
      try stranger.cli("DEL", keyspace.bindings(user: user))
      try cluster.beginMove(slot, from: stranger, to: old)
      try cluster.endMove(slot, from: stranger, to: old)
      #expect(try await lane.read().tokens[user] == nil)
    }
  }

  /// While a slot is open, what was not there is written elsewhere, and nobody here is told.
  @Test func whatIsNotThereIsNotTakenForKnown() async throws {
    let cluster = try RedisClusterProcess(
      hasReplicas: false, options: RedisClusterProcess.slowFailOver)
    try await SnapshotBed.run(SnapshotBed.options(cluster)) { bed async throws in
      let (bare, mute) = (bed.users[0], bed.users[1])
      try cluster.masters[0].cli("DEL", keyspace.bindings(user: bare))
      try cluster.masters[0].cli("DEL", keyspace.profile(user: mute))
      let lane = try await bed.trustingLane(servers: 3)
      try await lane.warm(bed.users.count - 2)
      for user in [bare, mute] {
        let slot = Self.slot(user)
        let old = try #require(try cluster.master(of: slot))
        let new = try #require(cluster.masters.first { $0 !== old })
        try cluster.beginMove(slot, from: old, to: new)
      }
      try cluster.masters[0].cli("SADD", keyspace.bindings(user: bare), member("aabb"))
      try cluster.masters[0].cli("HSET", keyspace.profile(user: mute), "muted", "1")
      let reading = try await lane.read()
      #expect(reading.tokens[bare] == ["aabb"])
      #expect(reading.tokens[mute] == nil)
    }
  }

  @Test func aPromotedReplicaBeginsAnEpochOfItsOwn() async throws {
    let cluster = try RedisClusterProcess()
    try await SnapshotBed.run(SnapshotBed.options(cluster)) { bed async throws in
      let lane = try await bed.trustingLane(servers: 3)
      try await lane.warm(bed.users.count)
      let user = bed.users[0]
      let slot = Self.slot(user)
      let old = try #require(try cluster.master(of: slot))
      let index = try #require(cluster.masters.firstIndex { $0 === old })
      try cluster.wait("the replica to have all") {
        try old.cli("WAIT", "1", "1000") == "1"
      }
      try cluster.failOver(index)
      #expect(
        try cluster.replicas[index].cli("EXISTS", keyspace.snapshot(user: user)) == "1")
      try cluster.replicas[index].cli("SADD", keyspace.bindings(user: user), member("aabb"))
      #expect(try await lane.read().tokens[user]?.contains("aabb") == true)
      try await lane.warm(bed.users.count)
      try cluster.replicas[index].cli("SREM", keyspace.bindings(user: user), member("aabb"))
      #expect(try await lane.read().tokens[user] == [token(user)])
    }
  }
}
