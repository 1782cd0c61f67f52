import Devices
import EventLoop
import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import API

/// Users who are being forgotten, and those who ask for it at the same time.
@Suite struct ErasureJobsTests {
  private static let keyspace = Keyspace()

  private static var everywhere: UserErasure.Scope {
    var scope = UserErasure.Scope()
    scope.looksEverywhere = true
    return scope
  }

  private static func run(
    answeredWithin: Duration = .seconds(60),
    _ body: @Sendable (ErasureJobs, RedisFixture) async throws -> Void
  ) async throws {
    let fixture = try RedisFixture()
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let jobs = ErasureJobs(
      loop: loop, redis: RedisOptions(port: fixture.server.port), keyspace: keyspace,
      answeredWithin: answeredWithin)
    try await body(jobs, fixture)
    await jobs.close()
  }

  private static func state(_ jobs: ErasureJobs, _ id: String) async throws -> String? {
    try await jobs.record(id)?["state"]?.string
  }

  /// What was written behind a look is gone only once another look has gone through everything.
  @Test func anEndIsToldOnlyToThoseWhoCameBeforeTheLook() async throws {
    try await Self.run { jobs, fixture in
      for _ in 0..<3 {
        _ = try await fixture.run { redis async throws in
          try await DeviceRegistry(redis: redis, keyspace: Self.keyspace)
            .follow(streamer: "s1", user: "u1")
        }
        guard case .done(let counts) = try await jobs.run("u1", Self.everywhere) else {
          Issue.record("it was to be waited for")
          return
        }
        #expect(counts.follows == 1)
      }
    }
  }

  @Test func whatTakesLongIsFoundByItsIDAndLaterRequestsLookAgain() async throws {
    try await Self.run(answeredWithin: .zero) { jobs, fixture in
      for _ in 0..<3 {
        _ = try await fixture.run { redis async throws in
          try await DeviceRegistry(redis: redis, keyspace: Self.keyspace)
            .follow(streamer: "s1", user: "u1")
        }
        guard case .goesOn(let id) = try await jobs.run("u1", Self.everywhere) else { continue }
        while try await Self.state(jobs, id) == "running" {}
        let record = try #require(try await jobs.record(id))
        #expect(record["complete"] == true)
        #expect(record["erased"]?.object?["follows"] == 1)
        #expect(try await fixture.run { try await $0.ask("TTL", "ffd:{d:\(id)}") } != "-1")
      }
      #expect(try await jobs.record("nonsense") == nil)
    }
  }

  /// Two spellings that Swift takes for the same are two users.
  @Test func spellingsOfOneTextAreUsersOfTheirOwn() async throws {
    try await Self.run { jobs, fixture in
      let users = ["caf\u{E9}", "cafe\u{301}"]
      _ = try await fixture.run { redis async throws in
        for (number, user) in users.enumerated() {
          let device = try #require(
            Binding(destination: .production, topic: "a.b", token: "00a\(number)"))
          try await DeviceRegistry(redis: redis, keyspace: Self.keyspace)
            .bind(user: user, device, at: 1)
        }
      }
      try await withThrowingTaskGroup(of: ErasureJobs.End.self) { group in
        // The four that may run are busy, so that the others wait side by side.
        for user in ["a", "b", "c", "d"] + users {
          group.addTask { try await jobs.run(user, Self.everywhere) }
        }
        var devices = 0
        for try await end in group {
          if case .done(let counts) = end { devices += counts.devices }
        }
        #expect(devices == 2)
      }
    }
  }

  /// More than may run at once: those that run, those that wait, and one that comes too late.
  @Test func noErasureBeginsWhenTheyAreClosed() async throws {
    try await Self.run { jobs, fixture in
      _ = try await jobs.run("u0", Self.everywhere)
      fixture.server.freeze()
      defer { fixture.server.resume() }
      try await withThrowingTaskGroup(of: ErasureJobs.End?.self) { group in
        for number in 1...8 {
          group.addTask { try? await jobs.run("u\(number)", Self.everywhere) }
        }
        for _ in 0..<100 { await Task.yield() }
        await jobs.close()
        fixture.server.resume()
        for try await end in group { #expect(end == nil, "it was done") }
      }
      await #expect(throws: Problem.self) { try await jobs.run("u9", Self.everywhere) }
    }
  }

  @Test func moreThanMayRunAtOnceWait() async throws {
    try await Self.run { jobs, _ in
      try await withThrowingTaskGroup(of: ErasureJobs.End.self) { group in
        for number in 0..<ErasureJobs.maximumWaiting / 2 {
          group.addTask { try await jobs.run("u\(number)", Self.everywhere) }
        }
        for try await end in group {
          guard case .done(let counts) = end else {
            Issue.record("it was to be waited for")
            continue
          }
          #expect(counts.isComplete)
        }
      }
    }
  }
}

/// Forgetting users over HTTP.
@Suite struct ForgetTests {
  /// Clients that ask at the same time, each on a connection of its own.
  private static func statuses(
    _ bed: APIBed, _ count: Int, _ target: (Int) -> String
  ) throws -> [Int] {
    let clients = try (0..<count).map { number in
      let client = try RawClient(port: bed.port)
      client.send(
        "DELETE \(target(number)) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
          + "Authorization: Bearer \(bed.key(.appServer))\r\n\r\n")
      return client
    }
    return clients.map { client in
      client.readToEnd().flatMap { text in
        text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
      } ?? 0
    }
  }

  @Test(arguments: ["", "?everywhere=true"])
  func allWhoForgetOneUserAtOnceAreAnswered(_ query: String) async throws {
    try await APIBed.run { bed in
      for _ in 0..<20 {
        let statuses = try Self.statuses(bed, 32) { _ in "/v1/users/u1\(query)" }
        #expect(statuses.allSatisfy { $0 == 200 || $0 == 202 }, "\(statuses)")
      }
    }
  }

  @Test func anyNumberOfUsersIsForgottenAtOnce() async throws {
    try await APIBed.run { bed in
      let statuses = try Self.statuses(bed, 64) { "/v1/users/u\($0)" }
      #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
    }
  }

  @Test func whatCouldNotBeReadIsNotComplete() async throws {
    try await APIBed.run { bed in
      _ = try bed.redis.server.cli("SET", "ffd:{f:s1}", "something else")
      for query in ["?everywhere=true", "?follows=s1"] {
        let answer = try bed.ask("DELETE", "/v1/users/u1\(query)")
        #expect(answer.status == 200)
        #expect(answer["complete"] == false && answer["unreadable"] == 1, "\(answer.body)")
      }
      #expect(try bed.ask("DELETE", "/v1/users/u1")["complete"] == true)
      #expect(try bed.ask("GET", "/v1/erasures/nothing").status == 404)
    }
  }
}
