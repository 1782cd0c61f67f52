import EventLoop
import HTTPServer
import Telemetry

/// `/livez`, `/readyz`, `/startupz` and `/metrics`, on a thread of its own: it answers whatever the
/// others do. Nothing that it shows is a secret; it listens on the loopback interface unless told
/// otherwise all the same.
package final class ProbeServer: Sendable {
  private let loop = EventLoop(name: "probes")
  private let server: HTTPServer

  /// - Parameters:
  ///   - health: every part, as it is now.
  ///   - ticks: returns when the process' own threads have done something each; by then, and not
  ///     before, it lives. Never a dependency of the process: restarting would not mend that.
  ///   - metrics: everything that is measured, now.
  package init(
    options: HTTPServerOptions, lifeLimit: Duration = .seconds(2),
    health: @escaping @Sendable () async -> [HealthPart],
    ticks: @escaping @Sendable () async -> Void,
    metrics: @escaping @Sendable () async -> PrometheusText
  ) {
    let routes = ProbeRoutes(
      health: health, liveness: ThreadLiveness(loop: loop, limit: lifeLimit, ticks: ticks),
      metrics: metrics)
    server = HTTPServer(loop: loop, options: options, screen: { _ in .withoutBody }) {
      await routes.answer($0)
    }
  }

  /// Listens, and returns the port.
  package func start() async throws(HTTPServerError) -> Int { try await server.start() }

  package func stop() async {
    await server.stop()
    loop.stop()
  }
}
