import Assembly
import EventLoop
import Redis
import Settings
import Terminal

/// What a command asks of Redis.
package enum CommandRedis {
  /// Lends a client of the Redis that the settings name, which answers.
  package static func lend<T: Sendable>(
    _ settings: Settings,
    _ body: @Sendable (isolated LoopActor, RedisClient) async throws(CommandFailure) -> T
  ) async throws(CommandFailure) -> T {
    var made: RedisOptions
    do { made = try Assembly.redisOptions(settings) } catch { throw CommandFailure(error) }
    // Verbs read what they write.
    made.replicaLagLimit = nil
    let options = made
    return try await EventLoop.temporary("command") {
      (actor: isolated LoopActor, loop: EventLoop) async throws(CommandFailure) -> T in
      let client = RedisClient(options: options, loop: loop, log: { _ in })
      client.start()
      defer { client.close() }
      let watch = InterruptWatch(client, loop)
      defer { watch.end() }
      do throws(RedisError) {
        _ = try await client.execute(RedisPipeline(["PING"]))
      } catch {
        guard !watch.isInterrupted else {
          throw CommandFailure(.retryLater, "interrupted while connecting to Redis")
        }
        throw CommandFailure(error)
      }
      watch.end()
      return try await body(actor, client)
    }
  }
}

/// Ends the wait for a connection at the first signal, where the verb has signals caught. Confined
/// to its loop.
private final class InterruptWatch {
  private static let interval: Duration = .milliseconds(50)
  private let client: RedisClient
  private let loop: EventLoop
  private var timer: LoopTimer?
  private(set) var isInterrupted = false

  init(_ client: RedisClient, _ loop: EventLoop) {
    self.client = client
    self.loop = loop
    look()
  }

  func end() { timer?.cancel() }

  private func look() {
    guard let signals = StopSignals.current else { return }
    if signals.isRaised {
      isInterrupted = true
      client.close()
      return
    }
    timer = loop.schedule(after: Self.interval) { [weak self] in self?.look() }
  }
}
