import EventLoop
import Fixtures
import Redis
import ServerProcesses

/// One Redis, or a cluster of three masters: what holds on the one holds on the other.
final class RedisBed: Sendable {
  enum Kind: CaseIterable { case one, cluster }

  /// The servers live as long as this does.
  private let server: RedisServerProcess?
  private let cluster: RedisClusterProcess?
  let loop = EventLoop(name: "bed")

  init(_ kind: Kind) throws {
    server = kind == .one ? try RedisServerProcess() : nil
    cluster =
      kind == .cluster
      ? try RedisClusterProcess(hasReplicas: false, options: RedisClusterProcess.slowFailOver) : nil
  }

  deinit { loop.stop() }

  var masters: [RedisServerProcess] { cluster?.masters ?? server.map { [$0] } ?? [] }

  /// Runs `body` on the loop with a client that is closed afterwards.
  func run<T: Sendable>(
    _ body: @Sendable (RedisClient) async throws -> T
  ) async throws -> T {
    var options = RedisOptions(
      port: masters[0].port, commandTimeout: .seconds(60), reconnectMinimum: .milliseconds(5),
      reconnectMaximum: .milliseconds(50))
    options.clusterNodes = cluster?.endpoints ?? []
    let (ready, loop) = (options, loop)
    return try await LoopActor(loop).run { _ in
      let client = RedisClient(options: ready, loop: loop, log: { _ in })
      client.start()
      defer { client.close() }
      return try await body(client)
    }
  }
}
