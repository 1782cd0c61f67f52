import Checkout
import Fixtures
import Keyspace
import Model
import Redis
import ServerProcesses
import Testing
import Threads

@testable import Record

/// A token that Apple calls gone, and users who log in while it is taken out.
@Suite struct ReleaseTests {
  private func bind(_ server: RedisServerProcess, _ user: String) throws {
    try server.cli(
      "EVAL", Checkout.text("Config/redis/bind.lua"), "1", keyspace.tokenOwner(token: "aa"), "bind",
      user, "production", "com.example.live")
  }

  /// Who has the token, and who owns it.
  private func state(_ server: RedisServerProcess) throws -> (holders: [String], owner: String) {
    let holders = try ["u1", "u2"].filter {
      try !server.cli("SMEMBERS", keyspace.bindings(user: $0)).isEmpty
    }
    return (holders, try server.cli("GET", keyspace.tokenOwner(token: "aa")))
  }

  /// Takes the token of u1 out. Returns how many answers Redis gave.
  /// - Parameter meanwhile: gets the number of an answer, and says whether the worker hears it.
  private func prune(
    _ server: RedisServerProcess, _ timeout: Duration,
    _ meanwhile: @escaping @Sendable (Int) throws -> Bool
  ) async throws -> Int {
    for command in [
      ["FLUSHALL"], ["SCRIPT", "FLUSH"], ["SADD", keyspace.bindings(user: "u1"), member("aa")],
      ["SET", keyspace.tokenOwner(token: "aa"), "u1"],
    ] {
      try server.cli(command)
    }
    let answers = ThreadLock(0)
    _ = try? await ProxiedClient.run(
      to: server.port, commandTimeout: timeout,
      rewriter: { bytes in
        let number = answers.withLock { answers in
          answers += 1
          return answers
        }
        return (try? meanwhile(number)) == false ? [] : bytes
      },
      { redis in
        let record = RecordStage(redis: redis, keyspace: keyspace)
        let own = tally(accepted: 1, [gone("u1", "aa", since: noon)])
        try await record.prune(segments("e1", 1)[0], own, now: noon)
      })
    return answers.withLock { $0 }
  }

  /// Something happens at the first answer of Redis, then at the second, until there is no such
  /// answer.
  /// - Parameter happens: gets the number of an answer, and says whether there was one.
  private func atEveryAnswer(
    _ happens: (RedisServerProcess, Int) async throws -> Bool
  ) async throws {
    let fixture = try RedisFixture()
    for answer in 1...32 where try await !happens(fixture.server, answer) {
      #expect(answer > 6)
      return
    }
    Issue.record("no end after 32 answers")
  }

  @Test(arguments: [["u1"], ["u2"], ["u1", "u2"], ["u2", "u1"]])
  func whoeverLogsInLastHasTheTokenAlone(_ logins: [String]) async throws {
    try await atEveryAnswer { server, answer in
      let isReached =
        try await prune(server, .seconds(60)) { number in
          if number == answer { for user in logins { try bind(server, user) } }
          return true
        } >= answer
      let known = try state(server)
      #expect(known.holders == (isReached ? [logins[logins.count - 1]] : []), "answer \(answer)")
      #expect(known.owner == (isReached ? logins.last : ""), "answer \(answer)")
      return isReached
    }
  }

  /// The worker dies behind any of its steps, when the user has just logged in, and somebody binds
  /// the token later.
  @Test(arguments: ["u1", "u2"])
  func whoBindsAfterADeathHasTheTokenAlone(_ user: String) async throws {
    try await atEveryAnswer { server, answer in
      let isReached =
        try await prune(server, .milliseconds(300)) { number in
          if number == answer { try bind(server, "u1") }
          return number < answer
        } >= answer
      try bind(server, user)
      let known = try state(server)
      #expect(known.holders == [user] && known.owner == user, "answer \(answer)")
      return isReached
    }
  }
}
