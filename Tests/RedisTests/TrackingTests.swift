import EventLoop
import ServerProcesses
import Testing
import Threads
import Transport

@testable import Redis

/// Who is told of writes hears of each, and knows when it hears no more.
@Suite struct TrackingTests {
  /// What a delegate is told, in its order. Confined to its loop.
  private final class Listener: RedisTrackingDelegate {
    var events: [String] = []
    var server: TrackedServer?
    var intervals = 0

    func trackingBegan(at server: TrackedServer) {
      events.append("began")
      self.server = server
    }

    func trackingEnded(at server: TrackedServer) {
      events.append("ended\(server.isTracking ? " and tracks" : "")")
      self.server = nil
    }

    func wereWritten(_ keys: RedisReply, at server: TrackedServer) {
      for index in 0..<keys.count { events.append(keys[index].text ?? "?") }
    }

    func everythingWasWritten(at server: TrackedServer) { events.append("everything") }
    func intervalPassed(at server: TrackedServer) { intervals += 1 }
  }

  /// An actor on a loop with a client that is told of writes to `u:`.
  private actor Bed {
    let loop = EventLoop(name: "tracking")
    private let client: RedisClient
    private let listener = Listener()
    private let lines = Lane.Lines()

    init(_ options: RedisOptions) {
      client = RedisClient(options: options, loop: loop, log: { [lines] in lines.all.append($0) })
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    var events: [String] { listener.events }
    var intervals: Int { listener.intervals }
    var log: [String] { lines.all }
    var obstacles: [String?] { client.trackingStates.map(\.obstacle) }

    func start() {
      client.track(keysBeginningWith: "u:", for: listener)
      client.start()
    }

    func close() { client.close() }

    /// Everything that was written by now has been told of.
    func fence() async {
      guard let server = listener.server else { return }
      await withCheckedContinuation { continuation in
        server.fence { continuation.resume() }
      }
    }

    /// Looks every millisecond, for a minute.
    func until(_ condition: @Sendable (isolated Bed) -> Bool) async -> Bool {
      let deadline = ContinuousClock.now + .seconds(60)
      while !condition(self), ContinuousClock.now < deadline { await loop.wait(.milliseconds(1)) }
      return condition(self)
    }
  }

  private func withBed(
    _ options: RedisOptions, _ body: (Bed) async throws -> Void
  ) async throws {
    let bed = Bed(options)
    await bed.start()
    do {
      try await body(bed)
    } catch {
      await bed.close()
      bed.loop.stop()
      throw error
    }
    await bed.close()
    bed.loop.stop()
  }

  /// A complaint about files is made once, to whoever reads them first when they are wrong.
  @Test func whatTheListenerFindsWrongWithTheFilesIsLogged() async throws {
    let server = try RedisServerProcess()
    let reads = ThreadLock(0)
    var options = options(server.port)
    options.refresh = { _ in
      reads.withLock { reads in
        reads += 1
        return reads == 2 ? "password_file: gone" : nil
      }
    }
    try await withBed(options) { bed in
      #expect(await bed.until { $0.events == ["began"] })
      #expect(await bed.log.contains { $0.hasSuffix("password_file: gone") })
    }
  }

  @Test func eachWriteIsToldOfByTheNextFence() async throws {
    let server = try RedisServerProcess()
    try await withBed(options(server.port)) { bed in
      #expect(await bed.until { $0.events == ["began"] })
      try server.cli("SET", "u:1", "x")
      try server.cli("SET", "v:1", "x")
      try server.cli("MSET", "u:2", "x", "u:3", "x")
      try server.cli("DEL", "u:nobody")
      try server.cli("DEL", "u:1")
      await bed.fence()
      #expect(await bed.events == ["began", "u:1", "u:2", "u:3", "u:1"])
      for index in 0..<200 {
        try server.cli("SET", "u:\(index)", "x")
        await bed.fence()
        #expect(await bed.events.last == "u:\(index)")
      }
      try server.cli("FLUSHALL")
      await bed.fence()
      #expect(await bed.events.last == "everything")
      #expect(await bed.obstacles == [nil])
    }
  }

  /// Which connection it is that is lost.
  @Test(arguments: ["pubsub", "normal"]) func withoutEitherConnectionItIsOver(
    type: String
  ) async throws {
    let server = try RedisServerProcess()
    try await withBed(options(server.port)) { bed in
      #expect(await bed.until { $0.events == ["began"] })
      try server.cli("CLIENT", "KILL", "TYPE", type, "SKIPME", "yes")
      #expect(await bed.until { $0.events == ["began", "ended", "began"] })
    }
  }

  @Test func anotherStartOfTheServerIsAnother() async throws {
    let server = try RedisServerProcess()
    try await withBed(options(server.port)) { bed in
      #expect(await bed.until { $0.events == ["began"] })
      server.kill()
      #expect(await bed.until { $0.events == ["began", "ended"] })
      await bed.fence()
      try server.start()
      #expect(await bed.until { $0.events == ["began", "ended", "began"] })
    }
  }

  /// A server that says nothing any more: what is fenced comes to an end.
  @Test func aSilentServerIsGivenUp() async throws {
    let server = try RedisServerProcess()
    var options = options(server.port)
    options.commandTimeout = .milliseconds(200)
    try await withBed(options) { bed in
      #expect(await bed.until { $0.events == ["began"] })
      server.freeze()
      await bed.fence()
      #expect(await bed.events == ["began", "ended"])
      server.resume()
    }
  }

  @Test func aMasterThatBecomesAReplicaIsLeft() async throws {
    let server = try RedisServerProcess()
    let other = try RedisServerProcess()
    var options = options(server.port)
    options.checkInterval = .milliseconds(20)
    try await withBed(options) { bed in
      #expect(await bed.until { $0.events == ["began"] })
      try server.cli("REPLICAOF", "127.0.0.1", "\(other.port)")
      #expect(await bed.until { $0.events.contains("ended") })
    }
  }

  @Test func whatIsRefusedIsSaidOnce() async throws {
    let server = try RedisServerProcess()
    try server.cli("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-subscribe")
    var options = options(server.port)
    options.username = "app"
    options.password = "secret"
    try await withBed(options) { bed in
      #expect(await bed.until { $0.obstacles.first??.contains("NOPERM") == true })
      #expect(await bed.events.isEmpty)
      #expect(await bed.log.count { $0.contains("does not tell of writes") } == 1)
    }
  }

  /// More keys in one message than anybody keeps.
  @Test func aMessageWithoutBoundEndsIt() async throws {
    let server = try RedisServerProcess()
    try await withBed(options(server.port)) { bed in
      #expect(await bed.until { $0.events == ["began"] })
      try server.cli(
        "EVAL", "for i = 1, 60000 do redis.call('SET', 'u:' .. string.rep('x', 20) .. i, 1) end",
        "0")
      #expect(await bed.until { $0.events.contains("ended") })
      #expect(await bed.events.count < 60_000)
    }
  }

  @Test func whoListensIsCalledEachInterval() async throws {
    let server = try RedisServerProcess()
    var options = options(server.port)
    options.trackingInterval = .milliseconds(5)
    try await withBed(options) { bed in
      #expect(await bed.until { $0.intervals > 3 })
    }
  }
}
