import EventLoop
import HTTPServer
import Telemetry

/// The API of devices, users and events, on a thread of its own.
package final class APIServer: Sendable {
  private let loop = EventLoop(name: "api")
  private let service: APIService
  private let server: HTTPServer

  package init(_ options: APIOptions) {
    let service = APIService(options, loop: loop)
    var http = options.http
    http.refusal = Problem.refusal
    // Each route has a bound of its own.
    http.maximumBodyBytes = max(
      APIRoute.usualBodyBytes, options.ingest.maximumEventBytes, TagRoutes.maximumBodyBytes)
    self.service = service
    server = HTTPServer(
      loop: loop, options: http,
      screen: { head in service.assumeIsolated { $0.screen(head) } },
      answer: { await service.answer($0) })
  }

  /// Listens, and returns the port. Redis and Kafka need not be there yet.
  package func start() async throws(HTTPServerError) -> Int {
    await service.start()
    return try await server.start()
  }

  package func stop() async {
    await server.stop()
    await service.close()
    loop.stop()
  }

  /// Keys that are good from now on.
  package func use(_ keys: APIKeyRing) async { await service.use(keys) }

  /// A certificate for who connects from now on.
  package func show(_ identity: HTTPServerIdentity) async throws(HTTPServerError) {
    try await server.show(identity)
  }

  package func tick() async { await service.tick() }
  package func health() async -> [HealthPart] { await service.health() }
  package func metrics() async -> PrometheusText { await service.metricsText }

  /// All that there are, as they are documented.
  var routes: [(method: String, pattern: String, scope: APIScope?)] {
    get async { await service.patterns }
  }
}
