import Fixtures
import ServerProcesses
import Testing

@testable import Redis

/// One master and its replicas, and who is asked what.
struct ReplicaBed {
  let master: RedisServerProcess
  let replicas: [RedisServerProcess]

  init(replicas count: Int = 1) throws {
    let master = try RedisServerProcess()
    self.master = master
    replicas = try (0..<count).map { _ in try Self.replica(of: master.port) }
  }

  /// `port` may be a proxy's.
  static func replica(of port: Int, options: [String] = []) throws -> RedisServerProcess {
    try RedisServerProcess(
      options: ["--replicaof", "127.0.0.1 \(port)", "--repl-diskless-sync-delay", "0"] + options)
  }

  var options: RedisOptions {
    var options = RedisTests.options(master.port)
    options.replicaLagLimit = .seconds(10)
    return options
  }

  /// How often each replica, and then the master, was asked `command`.
  func calls(_ command: String) throws -> [Int] {
    try (replicas + [master]).map { try $0.calls(command) }
  }
}

extension RedisServerProcess {
  /// It is told of nothing any more, and knows it.
  func cutOff() throws {
    try cli("CONFIG", "SET", "masterauth", "nobody's")
    try cli("CLIENT", "KILL", "TYPE", "master")
  }
}

extension Lane {
  var replicas: RedisReplicaFigures? { client.replicaFigures }

  /// As many are read from, and no others are known.
  func reads(from count: Int) async -> Bool {
    await until {
      $0.replicas?.replicas.count == count && $0.replicas?.isComplete == true
    }
  }

  /// Sets a key that a replica has then, which is read from.
  func copy(_ value: String, to key: String) async throws {
    #expect(try await call("SET", key, value) == "OK")
    #expect(try await call("WAIT", "1", "60000") == "1")
    #expect(await reads(from: 1))
  }

  /// One command that may lag.
  func read(_ arguments: String..., timeout: Duration? = nil) async throws -> String {
    let replies = try await client.execute(
      RedisPipeline(arguments), timeout: timeout, mayLag: true)
    return shown(replies[0])
  }

  /// Reads until there is another answer than `old`; false after a minute.
  func reads(_ key: String, otherThan old: String) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
      if try await read("GET", key) != old { return true }
      await loop.wait(.milliseconds(3))
    }
    return false
  }
}
