import Fixtures
import Redis
import ServerProcesses
import Threads

enum DyingClient {
  /// Whoever calls this hears so many answers of Redis, and dies. Returns how many there were.
  static func run(
    to server: RedisServerProcess, hearing wanted: Int,
    _ body: @Sendable (RedisClient) async throws -> Void
  ) async throws -> Int {
    let answers = ThreadLock(0)
    _ = try? await ProxiedClient.run(
      to: server.port,
      rewriter: { bytes in
        let number = answers.withLock { answers in
          answers += 1
          return answers
        }
        return number > wanted ? [] : bytes
      }, body)
    return answers.withLock { $0 }
  }
}
