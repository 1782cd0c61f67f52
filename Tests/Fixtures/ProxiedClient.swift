import EventLoop
import Redis

/// A client that reaches Redis through a proxy.
package enum ProxiedClient {
  /// - Parameter rewriter: gets what Redis answers, and says what the client hears.
  package static func run<T: Sendable>(
    to port: Int, commandTimeout: Duration = .milliseconds(300),
    rewriter: @escaping TestProxy.Rewriter,
    _ body: @Sendable (RedisClient) async throws -> T
  ) async throws -> T {
    let proxy = try await TestProxy(to: port, rewriter: rewriter)
    let loop = EventLoop(name: "proxied")
    defer { loop.stop() }
    let options = RedisOptions(
      port: proxy.port, connectTimeout: .milliseconds(300),
      commandTimeout: commandTimeout, reconnectMinimum: .milliseconds(5),
      reconnectMaximum: .milliseconds(50))
    let result: Result<T, any Error> = await LoopActor(loop).run { _ in
      let redis = RedisClient(options: options, loop: loop, log: { _ in })
      redis.start()
      defer { redis.close() }
      do {
        return .success(try await body(redis))
      } catch {
        return .failure(error)
      }
    }
    await proxy.close()
    return try result.get()
  }
}
