import Keyspace
import Model
import Redis
import ServerProcesses
import Testing

@testable import Expand

/// When snapshots are trusted, and when not.
@Suite struct SnapshotTrustTests {
  /// Nobody listened when the user logged out: the snapshot is there, and nobody trusts it.
  @Test func whatNobodyListenedToIsNotTrusted() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let first = try await bed.trustingLane()
      try await first.warm(bed.users.count)
      first.redis.close()
      try server.cli("DEL", keyspace.bindings(user: "u1"))
      #expect(try server.cli("EXISTS", keyspace.snapshot(user: "u1")) == "1")
      let second = try await bed.trustingLane()
      #expect(try await second.read().tokens["u1"] == nil)
      #expect(second.figures.hits == 0)
      // The others are stored again, and that one stays what nobody trusts.
      try await second.warm(bed.users.count)
      #expect(try await second.read().tokens["u1"] == nil)
    }
  }

  /// A newcomer takes over what others have stored, as long as one of them goes on.
  @Test func whatSomebodyListenedToIsTrustedByANewcomer() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let first = try await bed.trustingLane()
      try await first.warm(bed.users.count)
      let second = try await bed.trustingLane()
      first.redis.close()
      #expect(try await second.hits() == bed.users.count)
      let third = try await bed.trustingLane()
      second.redis.close()
      try server.cli("DEL", keyspace.bindings(user: "u1"))
      #expect(try await third.read().tokens["u1"] == nil)
      #expect(third.figures.hits == bed.users.count - 1)
    }
  }

  /// A snapshot in a batch that its writer has not vouched for may be older than a deletion.
  @Test func whatNobodyVouchedForIsNotTrusted() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let lane = try await bed.trustingLane()
      try await lane.warm(bed.users.count)
      let key = keyspace.snapshot(user: "u1")
      let registry = try await lane.redis.table(keyspace.snapshotRegistry(0))
      let writer = try #require(
        registry.keys.first { $0 != "epoch" }.flatMap { UInt64($0, radix: 16) })
      try await store("u1", SnapshotStamp(writer: writer, batch: .max), lane.redis)
      #expect(try await lane.hits() == bed.users.count - 1)
      try await store("u1", SnapshotStamp(writer: writer &+ 1, batch: 1), lane.redis)
      #expect(try await lane.hits() == bed.users.count - 1)
      // As the writer would have said: then it counts, with what it says.
      try await store("u1", SnapshotStamp(writer: writer, batch: 1), lane.redis)
      #expect(try await lane.read().tokens["u1"] == ["5eed"])
      try server.cli("DEL", key)
      #expect(try await lane.read().tokens["u1"] == [token("u1")])
    }
  }

  private func store(_ user: String, _ stamp: SnapshotStamp, _ redis: RedisClient) async throws {
    try await redis.commands([
      ["SADD", "of-a-test", member("5eed")], ["HSET", "of-a-test-too", "name", "n", "muted", ""],
    ])
    let replies = try await redis.execute(
      RedisPipeline(["SMEMBERS", "of-a-test"], ["HMGET", "of-a-test-too", "muted", "name"]))
    let pipeline = RedisPipeline()
    var writer = SnapshotWriter(key: keyspace.snapshotParts, fields: ["muted", "name"])
    Array(user.utf8).withUnsafeBytes {
      writer.append(
        $0, bindings: replies[0], profile: replies[1], isTold: true, stamp, to: pipeline)
    }
    _ = try await redis.execute(pipeline)
  }

  @Test func anotherProcessBeginsAnEpochOfItsOwn() async throws {
    let server = try RedisServerProcess(isDurable: true)
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let lane = try await bed.trustingLane()
      try await lane.warm(bed.users.count)
      let epoch = try server.cli("HGET", keyspace.snapshotRegistry(0), "epoch")
      server.kill()
      try server.start()
      try server.cli("DEL", keyspace.bindings(user: "u1"))
      #expect(try server.cli("EXISTS", keyspace.snapshot(user: "u1")) == "1")
      try await lane.until("another epoch is trusted") { figures in
        try figures.trustedServers == 1
          && server.cli("HGET", keyspace.snapshotRegistry(0), "epoch") != epoch
      }
      let before = lane.figures.hits
      #expect(try await lane.read().tokens["u1"] == nil)
      #expect(lane.figures.hits == before)
      try await lane.warm(bed.users.count)
    }
  }

  /// The connection that tells of writes is killed; whatever is written then nobody hears of.
  @Test func whoHearsNothingTrustsNothing() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let lane = try await bed.trustingLane()
      for round in 0..<2 {
        try await lane.warm(bed.users.count)
        try server.cli("CLIENT", "KILL", "TYPE", "pubsub")
        try server.cli("SADD", keyspace.bindings(user: "u1"), member("aabb0\(round)"))
        #expect(try await lane.read().tokens["u1"]?.contains("aabb0\(round)") == true)
        try await lane.until("it trusts again") { $0.trustedServers == 1 }
      }
      #expect(lane.log.lines.contains { $0.contains("does not tell of writes") })
    }
  }

  /// A lane that was stopped for a while, or lost its registry, begins again.
  @Test func withoutItsRegistryALaneBeginsAgain() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let lane = try await bed.trustingLane()
      try await lane.warm(bed.users.count)
      let epoch = try server.cli("HGET", keyspace.snapshotRegistry(0), "epoch")
      try server.cli("DEL", keyspace.snapshotRegistry(0))
      try await lane.until("another epoch is trusted") { figures in
        try figures.trustedServers == 1
          && !["", epoch].contains(server.cli("HGET", keyspace.snapshotRegistry(0), "epoch"))
      }
      let hits = lane.figures.hits
      _ = try await lane.read()
      #expect(lane.figures.hits == hits)
      try await lane.warm(bed.users.count)
    }
  }

  /// Its script was cut off, or who wrote it may not give it an end.
  @Test func aRegistryWithoutAnEndIsNobodys() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let information = try server.cli("INFO", "server").split(whereSeparator: \.isNewline)
      let run = try #require(information.first { $0.hasPrefix("run_id:") }?.dropFirst(7))
      try server.cli("HSET", keyspace.snapshotRegistry(0), "epoch", "\(run):1", "5", "7")
      let lane = try await bed.trustingLane()
      #expect(try server.cli("HGET", keyspace.snapshotRegistry(0), "5") == "")
      try await lane.warm(bed.users.count)
    }
  }

  @Test func whoMayNotListenReadsAsEver() async throws {
    let server = try RedisServerProcess()
    try server.cli(
      "ACL", "SETUSER", "worker", "on", ">secret", "~*", "&*", "+@all", "-client|tracking")
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let lane = bed.lane {
        $0.username = "worker"
        $0.password = "secret"
      }
      try await lane.until("it says so") { _ in
        lane.log.lines.contains { $0.contains("refuses CLIENT TRACKING and SUBSCRIBE") }
      }
      #expect(try await lane.read().users.count == bed.users.count)
      #expect(lane.figures == SnapshotFigures())
    }
  }

  /// Filled by snapshots Redis would refuse what must be written.
  @Test func aServerThatFillsUpGetsNoMore() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      // More than what connections take by the way.
      try server.cli("SETRANGE", "filler", "50000000", "x")
      let used = try #require(
        server.cli("INFO", "memory").split(whereSeparator: \.isNewline)
          .first { $0.hasPrefix("used_memory:") }.flatMap { Int($0.dropFirst(12)) })
      try server.cli("CONFIG", "SET", "maxmemory", "\(used + used / 5)")
      let lane = try await bed.trustingLane()
      try await lane.until("it says so") { _ in
        lane.log.lines.contains { $0.contains("is filling up") }
      }
      let stored = lane.figures.stored
      #expect(try await lane.read().users.count == bed.users.count)
      #expect(lane.figures.stored == stored)
    }
  }
}
