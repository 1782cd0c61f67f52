import Fixtures
import Keyspace
import ServerProcesses
import Testing
import Threads

@testable import Devices

/// Who follows a streamer while that one's followers are erased.
@Suite struct FollowDuringErasureTests {
  /// Alice follows when Redis has answered so often. Returns how many answers there were in all.
  private func erase(_ server: RedisServerProcess, followsAfter wanted: Int) async throws -> Int {
    let script = try shippedScript("follow.lua")
    let answers = ThreadLock(0)
    try await ProxiedClient.run(
      to: server.port, commandTimeout: .seconds(60),
      rewriter: { bytes in
        let number = answers.withLock { answers in
          answers += 1
          return answers
        }
        if number == wanted {
          _ = try? server.cli("EVAL", script, "1", keyspace.followers(of: "u1"), "follow", "alice")
        }
        return bytes
      },
      { redis async throws in
        var scope = UserErasure.Scope()
        scope.erasesAudience = true
        _ = try await UserErasure(redis: redis, keyspace: keyspace)
          .run("u1", scope, writes: true)
      })
    return answers.withLock { $0 }
  }

  /// Who is in no count, since she was written while the generation was counted, and follows
  /// between the look at the shards and the last step.
  @Test func aFollowThatCountsNothingKeepsTheHeading() async throws {
    let fixture = try RedisFixture()
    let heading = keyspace.followers(of: "u1")
    try fixture.server.cli("HSET", heading, "shards", "1", "generation", "2", "followers", "0")
    let shard = keyspace.followerShard(streamer: "u1", generation: 2, shard: 0)
    try await fixture.run { redis async throws in
      let marked = try await redis.reply(
        to: ErasureScripts.markEmpty, keys: [heading],
        arguments: ["shards": "1", "generation": "2"])
      #expect(marked.integer == 1)
      _ = try await redis.ask("SADD", shard, "alice")
      try await DeviceRegistry(redis: redis, keyspace: keyspace).follow(
        streamer: "u1", user: "alice")
      let removed = try await redis.reply(
        to: ErasureScripts.removeEmpty, keys: [heading],
        arguments: ["shards": "1", "generation": "2"])
      #expect(removed.integer == 0)
      #expect(try await redis.followers("u1") == ["alice"])
      _ = try await redis.ask("SREM", shard, "alice")
      // With a new mark it goes.
      for script in [ErasureScripts.markEmpty, ErasureScripts.removeEmpty] {
        let done = try await redis.reply(
          to: script, keys: [heading], arguments: ["shards": "1", "generation": "2"])
        #expect(done.integer == 1)
      }
      #expect(try await redis.ask("EXISTS", heading) == "0")
    }
  }

  /// Each step of the erasure in turn is the one behind which she comes. Who comes before the old
  /// followers are put away may go with them; nobody leaves a shard that nothing names.
  @Test func whoFollowsMeanwhileIsThereOrErased() async throws {
    let fixture = try RedisFixture()
    let server = fixture.server
    var answer = 0
    var isReached = true
    var kept = 0
    while isReached {
      answer += 1
      try server.cli("FLUSHALL")
      try await fixture.run { redis async throws in
        _ = try await DeviceRegistry(redis: redis, keyspace: keyspace).follow(
          streamer: "u1", user: "bob")
      }
      isReached = try await erase(server, followsAfter: answer) >= answer
      let what: Comment = "followed after \(answer) answers"
      let hasFollower = try await fixture.run { redis async throws in
        let followers = try await redis.followers("u1")
        let shards = try await redis.keys().filter { $0.hasPrefix("ffd:{f:u1:") }
        #expect(followers == (shards.isEmpty ? [] : ["alice"]), what)
        return !followers.isEmpty
      }
      if hasFollower { kept += 1 }
    }
    #expect(kept > 3 && answer > 9)
  }
}
