import Testing

@testable import Redis

/// Reads that may lag go to replicas, and nothing else does.
@Suite struct ReplicaReadTests {
  @Test func replicasAreReadFromInTurns() async throws {
    let bed = try ReplicaBed(replicas: 2)
    try await withLane(bed.options) { lane async throws in
      #expect(try await lane.call("SET", "k", "v") == "OK")
      #expect(try await lane.call("WAIT", "2", "60000") == "2")
      #expect(await lane.reads(from: 2))
      for _ in 0..<10 { #expect(try await lane.read("GET", "k") == "v") }
      #expect(try bed.calls("get") == [5, 5, 0])
      #expect(await lane.replicas?.answered == 10)
      #expect(await lane.replicas?.fellBack == 0)
      // What decides is the master's to answer.
      #expect(try await lane.call("GET", "k") == "v")
      #expect(try bed.calls("get") == [5, 5, 1])
      #expect(
        await lane.until {
          $0.log.contains {
            $0.contains("bindings and profiles are read from ") && $0.hasSuffix("of its replicas")
          }
        })
    }
  }

  @Test func nobodyIsReadFromWhoWasNotAskedFor() async throws {
    let bed = try ReplicaBed()
    var options = bed.options
    options.replicaLagLimit = nil
    try await withLane(options) { lane async throws in
      #expect(try await lane.call("SET", "k", "v") == "OK")
      #expect(try await lane.call("WAIT", "1", "60000") == "1")
      #expect(try await lane.read("GET", "k") == "v")
      #expect(await lane.replicas == nil)
    }
    #expect(try bed.calls("get") == [0, 1])
  }

  /// What is new, and what a replica has lost, is not taken for what is not there.
  @Test func whatAReplicaDoesNotHaveTheMasterIsAskedFor() async throws {
    let bed = try ReplicaBed()
    try await withLane(bed.options) { lane async throws in
      #expect(try await lane.call("SADD", "{u}:set", "a") == "1")
      #expect(try await lane.call("HSET", "{u}:hash", "name", "Kim") == "1")
      #expect(try await lane.call("WAIT", "1", "60000") == "1")
      #expect(await lane.reads(from: 1))
      // It is a replica still, that took something else in.
      let replica = bed.replicas[0]
      try replica.cli("CONFIG", "SET", "replica-read-only", "no")
      try replica.cli("DEL", "{v}:set", "{u}:hash")
      #expect(try await lane.call("SADD", "{v}:set", "b") == "1")
      #expect(try await lane.call("WAIT", "1", "60000") == "1")
      try replica.cli("DEL", "{v}:set")
      let texts = try await lane.run { lane in
        let replies = try await lane.client.execute(
          RedisPipeline(
            ["SMEMBERS", "{u}:set"], ["HMGET", "{u}:hash", "name", "locale"],
            ["SMEMBERS", "{v}:set"], ["HMGET", "{v}:hash", "name"], ["GET", "{u}:set"]),
          mayLag: true)
        return (0..<replies.count).map { lane.shown(replies[$0]) }
      }
      let wrong = "WRONGTYPE {u}:set holds another type than GET takes"
      #expect(texts == ["[a]", "[Kim (nil)]", "[b]", "[(nil)]", wrong])
    }
    #expect(try bed.calls("smembers") == [2, 1])
    #expect(try bed.calls("hmget") == [2, 2])
    #expect(try bed.calls("get") == [1, 0])
  }

  /// Its user may not read there: each refusal costs one question more, and it is left for a while.
  @Test func whatAReplicaRefusesTheMasterIsAskedFor() async throws {
    let bed = try ReplicaBed()
    try await withLane(bed.options) { lane async throws in
      try await lane.copy("v", to: "k")
      try bed.replicas[0].cli("ACL", "SETUSER", "default", "-get")
      #expect(try await lane.read("GET", "k") == "v")
      #expect(await lane.replicas?.fellBack == 1)
      #expect(try bed.calls("get") == [0, 1])
      try bed.replicas[0].cli("ACL", "SETUSER", "default", "+get")
      #expect(await lane.reads(from: 1))
      #expect(try await lane.read("GET", "k") == "v")
      #expect(try bed.calls("get") == [1, 1])
    }
  }

  /// The master would not answer it in less: it is not asked.
  @Test func whatIsTooLargeIsTooLargeForTheMasterToo() async throws {
    let bed = try ReplicaBed()
    try await withLane(bed.options) { lane async throws in
      let large = String(repeating: "x", count: 5_000)
      try await lane.copy(large, to: "k")
      let code = try await lane.run { lane async -> RedisError.Code? in
        do throws(RedisError) {
          _ = try await lane.client.execute(
            RedisPipeline(["GET", "k"]), maximumReplyBytes: 1_000, mayLag: true)
          return nil
        } catch {
          return error.code
        }
      }
      #expect(code == .replyTooLarge)
      #expect(try bed.calls("get") == [1, 0])
    }
  }

  /// Its address is the one that the master tells, and copies another one.
  @Test func anothersReplicaIsNotReadFrom() async throws {
    let other = try ReplicaBed()
    try other.master.cli("SET", "k", "another's")
    let bed = try ReplicaBed(replicas: 0)
    try bed.master.cli("SET", "k", "ours")
    let replica = try ReplicaBed.replica(
      of: bed.master.port, options: ["--replica-announce-port", "\(other.replicas[0].port)"])
    // It has come further, so that nothing else tells.
    for _ in 0..<100 { try other.master.cli("SET", "more", String(repeating: "x", count: 1_000)) }
    #expect(try bed.master.cli("WAIT", "1", "60000") == "1")
    try await withLane(bed.options) { lane async throws in
      #expect(
        await lane.until {
          $0.replicas?.replicas.first?.obstacle?.contains("master_replid") == true
        })
      #expect(try await lane.read("GET", "k") == "ours")
      #expect(await lane.replicas?.mastersAlone == ["Redis 127.0.0.1:\(bed.master.port)"])
    }
    #expect(try other.replicas[0].calls("get") == 0)
    withExtendedLifetime(replica) {}
  }
}
