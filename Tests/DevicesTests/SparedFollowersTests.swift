import Fixtures
import Keyspace
import Redis
import ServerProcesses
import Testing
import Threads

@testable import Devices

/// Who follows a streamer without followers while others are to become that streamer's, and nobody
/// is to be replaced.
@Suite struct SparedFollowersTests {
  /// How the streamer comes to have nobody.
  enum Before: CaseIterable { case nothing, someoneWhoLeft }
  enum Command: CaseIterable { case seed, shard }

  private func follow(_ server: RedisServerProcess, _ verb: String, _ user: String) throws {
    let script = try shippedScript("follow.lua")
    try server.cli("EVAL", script, "1", keyspace.followers(of: "s1"), verb, user)
  }

  /// Alice follows when Redis has answered so often. Returns how many answers there were in all.
  private func run(
    _ command: Command, _ server: RedisServerProcess, followsAfter wanted: Int
  ) async throws -> (answers: Int, isRefused: Bool) {
    let answers = ThreadLock(0)
    let error = try await ProxiedClient.run(
      to: server.port, commandTimeout: .seconds(60),
      rewriter: { bytes in
        let number = answers.withLock { answers in
          answers += 1
          return answers
        }
        if number == wanted { try? follow(server, "follow", "alice") }
        return bytes
      },
      { redis async throws in
        await failure {
          switch command {
          case .seed:
            let writer = AudienceWriter(redis: redis, keyspace: keyspace)
            try await writer.begin(streamer: "s1", expectedFollowers: 1, replaces: false)
            try await writer.append(
              AudienceRow(user: "made-up", profile: [], bindings: [], boundAt: 1))
            _ = try await writer.finish()
          case .shard:
            _ = try await AudienceSharding(redis: redis, keyspace: keyspace)
              .run(streamer: "s1", from: .plain(key: "followers:s1"))
          }
        }
      })
    #expect(error == nil || error?.code == .invalid)
    return (answers.withLock { $0 }, error != nil)
  }

  /// Each step of a command in turn is the one behind which she comes.
  @Test(arguments: Before.allCases, Command.allCases)
  func whoFollowsMeanwhileIsNotLost(_ before: Before, _ command: Command) async throws {
    let fixture = try RedisFixture()
    let server = fixture.server
    var answer = 0
    var isReached = true
    var refusals = 0
    while isReached {
      answer += 1
      try server.cli("FLUSHALL")
      try server.cli("SADD", "followers:s1", "plain")
      if before == .someoneWhoLeft {
        for verb in ["follow", "unfollow"] { try follow(server, verb, "nobody") }
      }
      let found = try await run(command, server, followsAfter: answer)
      isReached = found.answers >= answer
      if !isReached { try follow(server, "follow", "alice") }
      let others = command == .seed ? "made-up" : "plain"
      let what: Comment = "followed after \(answer) answers"
      try await fixture.run { redis async throws in
        let followers = try await redis.followers("s1")
        #expect(followers == (found.isRefused ? ["alice"] : ["alice", others]), what)
      }
      if found.isRefused { refusals += 1 }
    }
    #expect(refusals > 0 && answer > 6)
  }
}
