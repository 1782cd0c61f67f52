import Keyspace
import Model
import Redis
import ServerProcesses
import Testing

@testable import Expand

/// What a page reads from snapshots, and what becomes of writes while it is read.
@Suite struct SnapshotPageTests {
  @Test func aPageFromSnapshotsIsThePageItself() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      // Two devices, one of another app; no name; nobody's; not a device.
      try server.cli(
        "SADD", keyspace.bindings(user: "u1"), member("aabb"), member("cc", topic: "x"))
      try server.cli("DEL", keyspace.profile(user: "u2"), keyspace.bindings(user: bed.users[5]))
      try server.cli("SADD", keyspace.bindings(user: bed.users[6]), "nonsense")
      try server.cli("HSET", keyspace.profile(user: bed.users[7]), "muted", "1", "locale", "de")
      let fields = ["locale", "name"]
      let plain = try await bed.lane(keepsSnapshots: false).read(fields: fields)
      let lane = try await bed.trustingLane()
      try await lane.warm(bed.users.count, fields: fields)
      var page = try await lane.read(fields: fields)
      for user in page.tokens.keys { page.tokens[user]?.sort() }
      var expected = plain
      for user in expected.tokens.keys { expected.tokens[user]?.sort() }
      #expect(page == expected)
      #expect(expected.skipped == 1 && expected.suppressed != SuppressionCounts())
      // In another order, and some of them.
      let names = try await lane.read(fields: ["name"])
      #expect(names.fields["u1"] == ["Name of u1"])
      #expect(try await lane.hits(fields: ["name", "locale"]) == bed.users.count)
    }
  }

  /// From a snapshot Redis is asked for nothing else.
  @Test func whoHasASnapshotCostsOneKey() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let lane = try await bed.trustingLane()
      try await lane.warm(bed.users.count)
      try server.cli("CONFIG", "RESETSTAT")
      _ = try await lane.read()
      let statistics = try server.cli("INFO", "commandstats")
      #expect(statistics.contains("cmdstat_mget:calls=1,"))
      // The shard's.
      #expect(statistics.contains("cmdstat_smembers:calls=1,"))
      #expect(!statistics.contains("cmdstat_hmget"))
    }
  }

  /// An event that names another field of profiles gets it, and the next reads it from there.
  @Test func aFieldMoreIsStoredWithTheOthers() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let lane = try await bed.trustingLane()
      try await lane.warm(bed.users.count)
      try server.cli("HSET", keyspace.profile(user: "u2"), "city", "Ulm")
      try await lane.warm(bed.users.count, fields: ["city"])
      #expect(try await lane.read(fields: ["city"]).fields["u2"] == ["Ulm"])
      #expect(try await lane.hits(fields: ["name"]) == bed.users.count)
    }
  }

  @Test func whatDoesNotLastOrIsLargeIsReadAsEver() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      try server.cli(
        "HSET", keyspace.profile(user: "u1"), "name", String(repeating: "n", count: 3_000))
      try server.cli("PEXPIRE", keyspace.bindings(user: "u2"), "3600000")
      try server.cli("PEXPIRE", keyspace.profile(user: bed.users[4]), "3600000")
      let lane = try await bed.trustingLane()
      try await lane.warm(bed.users.count - 3)
      let stored = lane.figures.stored
      let reading = try await lane.read()
      #expect(reading.fields["u1"] == [String(repeating: "n", count: 3_000)])
      #expect(reading.tokens["u2"] == [token("u2")])
      // Nor is it tried again and again.
      #expect(lane.figures.stored == stored)
      // What lasts again is stored again.
      try server.cli("PERSIST", keyspace.bindings(user: "u2"))
      try await lane.warm(bed.users.count - 2)
    }
  }

  @Test func ofAPageAQuarterIsStoredAtATime() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let lane = try await bed.trustingLane()
      _ = try await lane.read()
      #expect(lane.figures.stored == bed.users.count / 4)
      #expect(lane.figures.misses == bed.users.count)
    }
  }

  /// A small event, stragglers, and other types of keys.
  @Test func whoIsNotOfALargeEventIsReadAsEver() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let lane = try await bed.trustingLane()
      try await lane.warm(bed.users.count)
      let before = lane.figures
      let small = lane.stage.reader(
        of: lane.stage.users(of: shard(0, of: 1)), fields: ["name"], topic: app)
      #expect(try await small.next()?.recipients.count == bed.users.count)
      #expect(lane.figures == before)
      try server.cli("DEL", keyspace.profile(user: "u1"))
      try server.cli("SET", keyspace.profile(user: "u1"), "no hash")
      #expect(try await lane.read().passedOver == ["u1"])
      #expect(try await lane.read().passedOver == ["u1"])
    }
  }

  // MARK: in the middle of a page

  /// Between the snapshot's answer and the page's end somebody logs out.
  @Test func whatIsWrittenWhileAPageIsReadIsReadAgain() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let lane = try await bed.trustingLane()
      try await lane.warm(bed.users.count)
      // One without a snapshot that is fit, so that something is read plainly.
      try server.cli("PEXPIRE", keyspace.profile(user: "u2"), "3600000")
      try await lane.until("nobody is stored any more") { before in
        try await lane.hits() == bed.users.count - 1 && lane.figures.stored == before.stored
      }
      var rounds: [[Int]] = []
      let replies = try await lane.page(of: bed.users) { places in
        rounds.append(places)
        if rounds.count == 1 {
          try server.cli("SADD", keyspace.bindings(user: "u1"), member("aabb"))
        }
      }
      let place = try #require(bed.users.firstIndex(of: "u1"))
      #expect(replies[2 * place].count == 2)
      #expect(rounds == [[try #require(bed.users.firstIndex(of: "u2"))], [place]])
    }
  }

  /// Between reading and storing somebody logs in.
  @Test func whatIsWrittenWhileAPageIsReadIsNotStored() async throws {
    let server = try RedisServerProcess()
    try await SnapshotBed.run(SnapshotBed.options(port: server.port)) { bed async throws in
      let lane = try await bed.trustingLane()
      // Two are stored, and the others are read plainly when those have been read.
      let some = Array(bed.users.prefix(8))
      _ = try await lane.page(of: some) { _ in
        try server.cli("SADD", keyspace.bindings(user: some[0]), member("aabb"))
        // It has been heard by the fence, which is asked for before.
      }
      try await lane.until("the stored is there") { _ in
        try server.cli("EXISTS", keyspace.snapshot(user: some[1])) == "1"
      }
      try await lane.warm(bed.users.count)
      #expect(Set(try await lane.read().tokens[some[0]] ?? []) == [token(some[0]), "aabb"])
    }
  }
}

extension SnapshotBed.Lane {
  /// Reads a page as a reader does; `plainly` runs before what is read without snapshots.
  fileprivate func page(
    of users: [String], plainly: ([Int]) throws -> Void
  ) async throws -> RedisReplies {
    let arena = ByteArena()
    let slices = users.map { arena.append(utf8: $0) }
    let snapshots = try #require(stage.snapshots)
    let wanted = ["muted", "name"]
    var page = SnapshotPage(
      snapshots, slices.map { arena[$0] }, wanted: wanted,
      vocabulary: try #require(snapshots.vocabulary(with: wanted)), maximumBytes: 1 << 20)
    return try await page.read { (places, _) async throws(RedisError) in
      do { try plainly(places) } catch { Issue.record(error) }
      let pipeline = RedisPipeline()
      for place in places {
        pipeline.append("SMEMBERS", keyspace.bindings(user: users[place]))
        pipeline.append("HMGET", keyspace.profile(user: users[place]), "muted", "name")
      }
      return try await redis.execute(pipeline)
    }
  }
}
