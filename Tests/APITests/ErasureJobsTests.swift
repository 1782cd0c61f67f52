import Devices
import EventLoop
import Fixtures
import Keyspace
import Model
import Redis
import Testing

@testable import API

/// What is written for a user while the user is being forgotten, or behind it.
@Suite struct ErasureJobsTests {
  /// Nobody waits for the end of an erasure: whoever asks again hears of it, and what the user has
  /// had since goes, too.
  @Test(arguments: [Duration.zero, .seconds(60)])
  func whatCameBehindItGoesToo(answeredWithin: Duration) async throws {
    let fixture = try RedisFixture()
    let port = fixture.server.port
    try await fixture.run { redis async throws in
      let loop = EventLoop(name: "test")
      defer { loop.stop() }
      let keyspace = Keyspace()
      let jobs = ErasureJobs(
        loop: loop, redis: RedisOptions(port: port), keyspace: keyspace,
        answeredWithin: answeredWithin)
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      let device = try #require(Binding(environment: .production, topic: "a.b", token: "00ab"))
      let bindings = keyspace.bindings(user: "u1")
      var scope = UserErasure.Scope()
      scope.looksEverywhere = true
      for _ in 0..<5 {
        _ = try await registry.bind(user: "u1", device, at: 100)
        var devices = try await jobs.run("u1", scope)?.devices ?? 0
        while try await redis.ask("EXISTS", bindings) == "1" {}
        #expect(try await registry.bind(user: "u1", device, at: 200))
        var counts = try await jobs.run("u1", scope)
        while counts == nil { counts = try await jobs.run("u1", scope) }
        devices += counts?.devices ?? 0
        #expect(try await redis.ask("EXISTS", bindings) == "0")
        #expect(devices == 2)
      }
      await jobs.close()
    }
  }
}
