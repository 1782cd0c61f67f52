import Assembly
import Probes
import Settings
import Telemetry
import Terminal

/// A process' answers to probes and to Prometheus, where the settings want them.
package struct ProbeService: Sendable {
  private let server: ProbeServer

  /// Listens; nil when nothing is to be served.
  /// - Parameters:
  ///   - health: each part that must be in order, and what is wrong with it.
  ///   - ticks: returns when each thread of the process has done something.
  package static func start(
    _ settings: Settings, _ log: Log,
    health: @escaping @Sendable () async -> [HealthPart],
    ticks: @escaping @Sendable () async -> Void,
    metrics: @escaping @Sendable () async -> PrometheusText
  ) async throws(CommandFailure) -> ProbeService? {
    guard let options = Assembly.probeOptions(settings) else { return nil }
    let server = ProbeServer(options: options, health: health, ticks: ticks, metrics: metrics)
    do {
      let port = try await server.start()
      log.info(
        "probes and metrics are served", ["host": .text(options.host), "port": .integer(port)])
    } catch {
      throw CommandFailure(.failed, "probes: \(error)")
    }
    return ProbeService(server: server)
  }

  package func stop() async { await server.stop() }
}
