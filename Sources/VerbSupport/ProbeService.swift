import Assembly
import Glibc
import Probes
import Settings
import Telemetry
import Terminal

/// What a process says of itself while it runs: its answers to probes and to Prometheus, where the
/// settings want them, and what systemd is told, where it runs the process.
package struct ProbeService: Sendable {
  private let server: ProbeServer?
  private let notifier: ServiceNotifier?
  private let health: @Sendable () async -> [HealthPart]
  private let ticks: @Sendable () async -> Void

  /// Listens for probes. systemd hears nothing before `announce`.
  /// - Parameters:
  ///   - health: each part that must be in order, and what is wrong with it.
  ///   - ticks: returns when each thread of the process has done something.
  package static func start(
    _ settings: Settings, _ log: Log,
    health: @escaping @Sendable () async -> [HealthPart],
    ticks: @escaping @Sendable () async -> Void,
    metrics: @escaping @Sendable () async -> PrometheusText
  ) async throws(CommandFailure) -> ProbeService {
    var server: ProbeServer?
    if let options = Assembly.probeOptions(settings) {
      let probes = ProbeServer(options: options, health: health, ticks: ticks, metrics: metrics)
      do {
        let port = try await probes.start()
        log.info(
          "probes and metrics are served", ["host": .text(options.host), "port": .integer(port)])
      } catch {
        throw CommandFailure(.failed, "probes: \(error)")
      }
      server = probes
    }
    let notifier = ServiceNotifier(environment: ProcessEnvironment.all, process: getpid())
    return ProbeService(server: server, notifier: notifier, health: health, ticks: ticks)
  }

  /// From now on systemd hears when the process is ready, how it is, and that it stops.
  /// - Parameter limit: how long it may take to stop; nil: as long as its unit says.
  package func announce(until signals: StopSignals, stopsWithin limit: Duration? = nil) {
    guard let notifier else { return }
    notifier.start(health: health, ticks: ticks)
    signals.onFirst { notifier.stopping(within: limit) }
  }

  /// Reloads, and lets systemd know. Returns before it has.
  /// - Parameter body: returns when what has changed is in use.
  package func reload(_ body: @escaping @Sendable () async -> Void) {
    if let notifier { notifier.reload(body) } else { Task { await body() } }
  }

  package func stop() async {
    await server?.stop()
    notifier?.end()
  }
}
