import EventLoop
import Keyspace
import Model
import Redis
import Testing

@testable import Expand

/// What a page makes of writes, losses and refusals at each moment, with a server that says what a
/// test wants when it wants.
@Suite struct SnapshotFaultTests {
  private func run(
    users: Int = 10, alternates: Bool = false,
    _ body: @Sendable (ScriptedSnapshots) async throws -> Void
  ) async throws {
    let loop = EventLoop(name: "snapshot-faults")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let server = try SnapshotScript(users: users, loop: loop)
      server.alternates = alternates
      defer { server.close() }
      var options = SnapshotBed.options(port: server.port)
      options.trackingInterval = .milliseconds(20)
      let log = SnapshotBed.Log()
      let redis = RedisClient(options: options, loop: loop, log: { log.lines.append($0) })
      let stage = ExpandStage(
        redis: redis, keyspace: keyspace, options: ExpandOptions(keepsSnapshots: true),
        report: { log.lines.append($0) })
      redis.start()
      defer { redis.close() }
      try await body(ScriptedSnapshots(server: server, loop: loop, stage: stage, log: log))
    }
  }

  private func trusting(
    users: Int = 10, _ body: @Sendable (ScriptedSnapshots) async throws -> Void
  ) async throws {
    try await run(users: users) { bed async throws in
      try await bed.until("it trusts snapshots") { bed.figures.trustedServers == 1 }
      try await body(bed)
    }
  }

  private static let key = keyspace.bindings(user: "u1")

  /// More than one command asks for.
  @Test func eachUserGetsTheirOwn() async throws {
    try await trusting(users: 300) { bed async throws in
      #expect(try await bed.readPlainly().isEmpty)
      #expect(bed.server.log.count { $0.hasPrefix("MGET") } == 3)
    }
  }

  /// Told of as late as a fence may hear of it, in front of its last answer.
  @Test func whatTheFenceHearsOfIsReadAgain() async throws {
    try await trusting { bed async throws in
      var rounds = 0
      bed.server.before = { command in
        if command[0] == "MGET" { rounds = 1 }
        guard command == ["PING", "subscribed"], rounds > 0 else { return nil }
        rounds += 1
        // One may have been on its way when the page asked.
        if rounds == 3 { bed.server.tell([Self.key]) }
        return nil
      }
      #expect(try await bed.readPlainly() == ["u1"])
    }
  }

  /// Told of before the answer that is older.
  @Test func whatIsHeardWhileSnapshotsAreAskedForIsReadAgain() async throws {
    try await trusting { bed async throws in
      let answers = bed.server.log.count
      bed.server.before = { command in
        if command[0] == "MGET" { bed.server.tell([keyspace.profile(user: "u2")]) }
        return nil
      }
      #expect(try await bed.readPlainly() == ["u2"])
      #expect(bed.server.log.dropFirst(answers).contains { $0.hasPrefix("DEL ") })
    }
  }

  /// Keys of a user that are not read, and of nobody.
  @Test func whatIsNotReadIsNotHeeded() async throws {
    try await trusting { bed async throws in
      bed.server.before = { command in
        if command[0] == "MGET" {
          bed.server.tell([keyspace.bound(user: "u1"), keyspace.bindings(user: "stranger")])
        }
        return nil
      }
      #expect(try await bed.readPlainly().isEmpty)
      #expect(bed.server.log.count { $0 == "DEL \(keyspace.snapshot(user: "stranger"))" } == 1)
      #expect(!bed.server.log.contains("DEL \(keyspace.snapshot(user: "u1"))"))
    }
  }

  @Test func whoLosesTheListenerInAPageTrustsNothingOfIt() async throws {
    try await trusting { bed async throws in
      bed.server.before = { command in
        if command[0] == "MGET" { bed.server.closeSubscribed() }
        return nil
      }
      #expect(try await bed.readPlainly().count == 10)
    }
  }

  @Test func whereEverythingWasWrittenNothingIsTrusted() async throws {
    try await trusting { bed async throws in
      bed.server.before = { command in
        if command[0] == "MGET" { bed.server.tell(nil) }
        return nil
      }
      let looks = bed.server.log.count { $0 == "look" }
      #expect(try await bed.readPlainly().count == 10)
      try await bed.until("it looks again") { bed.server.log.count { $0 == "look" } > looks }
      #expect(bed.log.lines.contains { $0.contains("was emptied") })
    }
  }

  /// A slot that has gone takes along what nobody can delete: nobody trusts the server any more.
  @Test func aRefusedDeletionEndsTheEpochForEverybody() async throws {
    try await trusting { bed async throws in
      bed.server.before = { command in
        if command[0] == "DEL" { return "-MOVED 1 127.0.0.1:1\r\n" }
        if command[0] == "MGET" { bed.server.tell([Self.key]) }
        return nil
      }
      #expect(try await bed.readPlainly().count == 10)
      #expect(bed.server.log.contains("end"))
    }
  }

  /// Of a page's answer that is older than a vouch nothing is trusted by that vouch: the deletions
  /// before it may be younger than the answer.
  @Test func whatWasVouchedForBehindTheQuestionIsNotTrusted() async throws {
    try await trusting { bed async throws in
      bed.server.vouched = 4
      try await bed.giveWords()
      #expect(try await bed.hits { bed.server.vouched = 5 } == 0)
      #expect(try await bed.hits {} == 1)
    }
  }

  /// What a page is read by is refused: it is said once, and nobody is stored again and again.
  @Test(arguments: ["MGET", "PTTL"]) func whereReadingIsRefusedItIsGivenUp(
    command name: String
  ) async throws {
    try await trusting { bed async throws in
      bed.server.before = { command in
        if command[0] == name { return "-NOPERM no\r\n" }
        // Nobody has a snapshot.
        return command[0] == "MGET" ? "*10\r\n" + String(repeating: "$-1\r\n", count: 10) : nil
      }
      #expect(try await bed.readPlainly().count == 10)
      #expect(bed.figures.trustedServers == 0 && bed.figures.servers == 1)
      #expect(try await bed.readPlainly().count == 10)
      #expect(bed.server.log.count { $0.hasPrefix(name) } < 8)
      #expect(bed.log.lines.count { $0.contains("is refused: NOPERM") } == 1)
      #expect(bed.figures.stored == 0)
    }
  }

  /// The PING behind what was stored, a fence, a PING behind what was deleted, then the word.
  @Test func aWordIsGivenBehindAFence() async throws {
    try await trusting { bed async throws in
      let start = bed.server.log.count
      try await bed.until("it has vouched") { bed.server.log.dropFirst(start).contains("vouch") }
      let log = bed.server.log.filter { ["PING", "PING subscribed", "vouch"].contains($0) }
      let word = try #require(log.firstIndex(of: "vouch"))
      #expect(
        log[max(0, word - 4)..<word] == ["PING", "PING subscribed", "PING subscribed", "PING"])
    }
  }

  /// While a word waits for its fence the deletion of what was written gets lost: it is not given.
  @Test func aWordIsNotGivenByWhoHasLeft() async throws {
    try await trusting { bed async throws in
      bed.server.losesDeletions = true
      try await bed.until("it has left") { bed.server.log.contains("end") }
      try await bed.until("it looks again") {
        bed.server.log.drop { $0 != "end" }.contains("look")
      }
      let between = bed.server.log.drop { $0 != "told" }.prefix { $0 != "look" }
      #expect(between.contains("end") && !between.contains("vouch"))
    }
  }

  /// Behind a name or a proxy the two connections may lead to two servers.
  @Test func twoProcessesAreNotTakenForOne() async throws {
    try await run(alternates: true) { bed async throws in
      try await bed.until("it says so") {
        bed.log.lines.contains { $0.contains("another process answers there") }
      }
      #expect(bed.figures.servers == 0)
      #expect(try await bed.readPlainly().count == 10)
    }
  }
}
