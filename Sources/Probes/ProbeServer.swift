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
  ///   - ticks: returns when the process' own threads have done something each; by then, and not
  ///     before, it lives. Never a dependency of the process: restarting would not mend that.
  ///   - metrics: everything that is measured, now.
  package init(
    options: HTTPServerOptions, health: HealthBoard, lifeLimit: Duration = .seconds(2),
    ticks: @escaping @Sendable () async -> Void,
    metrics: @escaping @Sendable () async -> PrometheusText
  ) {
    let loop = loop
    let pulse = Pulse(loop: loop, limit: lifeLimit, ticks: ticks)
    server = HTTPServer(loop: loop, options: options) { request in
      guard request.method == "GET" || request.method == "HEAD" else {
        return .text(405, "GET and HEAD only")
      }
      switch request.path {
      case "/livez":
        return await pulse.beats()
          ? .text(200, "ok") : .text(503, "a thread has done nothing for \(lifeLimit)")
      case "/readyz": return Self.readiness(health, request)
      case "/startupz":
        return health.isStarted ? .text(200, "ok") : Self.readiness(health, request, verbose: true)
      case "/metrics":
        let text = await metrics().text
        return HTTPResponse(
          status: 200, contentType: PrometheusText.contentType, body: Array(text.utf8))
      default: return .text(404, "/livez, /readyz, /startupz and /metrics are here")
      }
    }
  }

  /// Listens, and returns the port.
  package func start() async throws(HTTPServerError) -> Int { try await server.start() }

  package func stop() async {
    await server.stop()
    loop.stop()
  }

  private static func readiness(
    _ health: HealthBoard, _ request: HTTPRequest, verbose: Bool = false
  ) -> HTTPResponse {
    let parts = health.parts
    let isReady = parts.allSatisfy { $0.trouble == nil }
    guard verbose || !isReady || request.query.contains(where: { $0.name == "verbose" }) else {
      return .text(200, "ok")
    }
    let lines = parts.map { part in
      part.trouble.map { "[-] \(part.name): \($0)" } ?? "[+] \(part.name): ok"
    }
    return .text(
      isReady ? 200 : 503, (lines + [isReady ? "ready" : "not ready"]).joined(separator: "\n"))
  }
}
