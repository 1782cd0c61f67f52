import EventLoop
import Fixtures
import Keyspace
import Model
import Redis
import ServerProcesses
import Testing

@testable import Expand

/// Which pages may lack what was written a moment ago.
@Suite struct ReplicaPageTests {
  @Test func pagesComeFromReplicasButForThoseOfStragglers() async throws {
    let fixture = try RedisFixture()
    let replica = try RedisServerProcess(
      options: [
        "--replicaof", "127.0.0.1 \(fixture.server.port)", "--repl-diskless-sync-delay", "0",
        "--replica-read-only", "no",
      ])
    try await fixture.run(replicaLagLimit: .seconds(30)) { redis async throws in
      try await redis.populate(["ann"])
      // The replica does not know of the second device yet, and has heard of nobody else.
      try await redis.commands([["SADD", keyspace.bindings(user: "ann"), member("aabb")]])
      // It counts what its own connection has written.
      #expect(try await redis.ask("WAIT", "1", "60000") == "1")
      try replica.cli("SREM", keyspace.bindings(user: "ann"), member("aabb"))
      try replica.cli("DEL", "ffd:{f:s1}", "ffd:{f:s1:1:0}")
      try await redis.waitForReplica()
      let first = try await redis.read(shard(0, of: 1)).reading
      #expect(first.tokens == ["ann": [token("ann")]])
      let push = Straggler(user: "ann", member: member("aabb"), history: PushHistory())
      let list = StragglerList(id: "1.0~01", parent: "1.0", pushes: [push])
      let again = try await redis.read(
        Segment(event: event(), slice: .stragglers(list), count: 1)
      ).reading
      #expect(again.tokens["ann"]?.contains("aabb") == true)
    }
    #expect(try replica.cli("INFO", "commandstats").contains("cmdstat_smembers:calls=1,"))
  }
}

extension RedisClient {
  /// Returns when a replica is read from; fails after a minute.
  fileprivate func waitForReplica() async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while replicaFigures?.isComplete != true {
      try #require(ContinuousClock.now < deadline, "no replica was of use within a minute")
      // A round trip, so that the loop goes on.
      _ = try await ask("PING")
    }
  }
}
