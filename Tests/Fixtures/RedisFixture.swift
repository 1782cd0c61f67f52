import EventLoop
import Redis
import ServerProcesses

/// A real redis-server and a client of it on a loop of its own.
package final class RedisFixture: Sendable {
  package let server: RedisServerProcess
  /// Nil: it goes with the fixture.
  private let reused: ReusedRedis?
  private let loop = EventLoop(name: "fixture")

  package init(isDurable: Bool = false) throws {
    reused = isDurable ? nil : try ReusedRedis.take()
    server = try reused?.server ?? RedisServerProcess(isDurable: true)
  }

  deinit {
    loop.stop()
    reused?.giveBack()
  }

  /// Runs `body` on the loop with a client that is closed afterwards.
  package func run<T: Sendable>(
    commandTimeout: Duration = .seconds(60), maximumReplyBytes: Int = 64 << 20,
    replicasToWaitFor: Int = 0, replicaLagLimit: Duration? = nil,
    _ body: @Sendable (RedisClient) async throws -> T
  ) async throws -> T {
    let loop = loop
    var options = RedisOptions(
      port: server.port, commandTimeout: commandTimeout, reconnectMinimum: .milliseconds(5),
      reconnectMaximum: .milliseconds(50), maximumReplyBytes: maximumReplyBytes)
    options.replicasToWaitFor = replicasToWaitFor
    options.replicaLagLimit = replicaLagLimit
    return try await LoopActor(loop).run { [options] _ in
      let client = RedisClient(options: options, loop: loop, log: { _ in })
      client.start()
      defer { client.close() }
      return try await body(client)
    }
  }
}

extension RedisClient {
  /// The text of a command's reply; integers in decimal, nil for null and for arrays.
  package func ask(_ command: String...) async throws -> String? {
    let replies = try await execute(RedisPipeline(command))
    if let error = replies[0].error { throw error }
    return replies[0].integer.map { String($0) } ?? replies[0].text
  }

  package func table(_ key: String) async throws -> [String: String] {
    try await execute(RedisPipeline(["HGETALL", key]))[0].dictionary ?? [:]
  }
}

extension RedisServerProcess {
  /// How often it did a command.
  package func calls(_ command: String) throws -> Int {
    let line = try cli("INFO", "commandstats").split(whereSeparator: \.isNewline)
      .first { $0.hasPrefix("cmdstat_\(command):calls=") }
    return Int(line?.drop { $0 != "=" }.dropFirst().prefix(while: \.isNumber) ?? "0") ?? -1
  }
}
