import Assembly
import EventLoop
import Redis
import Settings
import Terminal
import Text

/// A command's requests to Redis.
package enum CommandRedis {
  /// Lends a client of the Redis that the settings name, which answers.
  ///
  /// - Parameter limit: how long Redis may take to be found, its name's look-up included, and then
  ///   for each answer; nil: as long as the settings say.
  package static func lend<T: Sendable>(
    _ settings: Settings, within limit: Duration? = nil,
    _ body: @Sendable (isolated LoopActor, RedisClient) async throws(CommandFailure) -> T
  ) async throws(CommandFailure) -> T {
    try await lendOnLoop(settings, within: limit) {
      (actor: isolated LoopActor, _, redis) async throws(CommandFailure) -> T in
      try await body(actor, redis)
    }
  }

  /// As above, for who does several things at a time on the client's loop.
  package static func lendOnLoop<T: Sendable>(
    _ settings: Settings, within limit: Duration? = nil,
    _ body:
      @Sendable (isolated LoopActor, EventLoop, RedisClient) async throws(CommandFailure) -> T
  ) async throws(CommandFailure) -> T {
    var made: RedisOptions
    do { made = try Assembly.redisOptions(settings) } catch { throw CommandFailure(error) }
    // Verbs read what they write.
    made.replicaLagLimit = nil
    if let limit { made.commandTimeout = min(made.commandTimeout, limit) }
    let options = made
    return try await EventLoop.temporary("command") {
      (actor: isolated LoopActor, loop: EventLoop) async throws(CommandFailure) -> T in
      let client = RedisClient(options: options, loop: loop, log: { _ in })
      client.start()
      defer { client.close() }
      let watch = ConnectWatch(client, loop, limit)
      defer { watch.end() }
      do throws(RedisError) {
        _ = try await client.execute(RedisPipeline(["PING"]))
      } catch {
        guard !watch.isInterrupted else {
          throw CommandFailure(.retryLater, "interrupted while connecting to Redis")
        }
        if let lateness = watch.lateness { throw lateness }
        throw CommandFailure(error)
      }
      watch.end()
      return try await body(actor, loop, client)
    }
  }
}

/// Ends the wait for a connection when its time is over, and at the first signal, where the verb
/// has signals caught. Confined to its loop.
private final class ConnectWatch {
  private static let interval: Duration = .milliseconds(50)
  private let client: RedisClient
  private let loop: EventLoop
  private var timer: LoopTimer?
  private var limitTimer: LoopTimer?
  private(set) var isInterrupted = false
  /// The time was over.
  private(set) var lateness: CommandFailure?

  init(_ client: RedisClient, _ loop: EventLoop, _ limit: Duration?) {
    self.client = client
    self.loop = loop
    if let limit {
      limitTimer = loop.schedule(after: limit) { [weak self] in self?.endLate(limit) }
    }
    look()
  }

  func end() {
    timer?.cancel()
    limitTimer?.cancel()
  }

  private func endLate(_ limit: Duration) {
    let why = client.obstacle.map { ": \($0)" } ?? ""
    lateness = CommandFailure(
      .unavailable, "Redis was not reached within \(DurationText.text(limit))\(why)")
    client.close()
  }

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
