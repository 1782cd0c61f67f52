import HTTPServer
import Synchronization
import Telemetry

/// What a probe gets, by path.
final class ProbeRoutes: Sendable {
  private let health: @Sendable () async -> [HealthPart]
  private let liveness: ThreadLiveness
  private let metrics: @Sendable () async -> PrometheusText
  private let hasBeenReady = Atomic(false)

  init(
    health: @escaping @Sendable () async -> [HealthPart], liveness: ThreadLiveness,
    metrics: @escaping @Sendable () async -> PrometheusText
  ) {
    self.health = health
    self.liveness = liveness
    self.metrics = metrics
  }

  func answer(_ request: HTTPRequest) async -> HTTPResponse {
    guard request.method == "GET" || request.method == "HEAD" else {
      return .text(405, "GET and HEAD only")
    }
    switch request.path {
    case "/livez":
      return await liveness.areAlive()
        ? .text(200, "ok") : .text(503, "a thread does nothing any more")
    case "/readyz":
      return await readiness(
        isVerbose: request.query.contains { $0.name == "verbose" },
        without: request.query.filter { $0.name == "exclude" }.map { $0.value ?? "" })
    case "/startupz":
      // Once it has started, what comes then is for the other two.
      guard !hasBeenReady.load(ordering: .relaxed) else { return .text(200, "ok") }
      return await startup()
    case "/metrics":
      let text = await metrics().text
      return HTTPResponse(
        status: 200, contentType: PrometheusText.contentType, body: Array(text.utf8))
    default: return .text(404, "/livez, /readyz, /startupz and /metrics are here")
    }
  }

  /// What is not vital may come later.
  private func startup() async -> HTTPResponse { report(await look().filter(\.isVital)) }

  /// - Parameter excluded: parts that whoever asks can do without.
  private func readiness(isVerbose: Bool, without excluded: [String]) async -> HTTPResponse {
    let parts = await look()
    let names = parts.map(\.name)
    if let unknown = excluded.first(where: { !names.contains($0) }) {
      return .text(400, "there is no part \(unknown); there are \(names.joined(separator: ", "))")
    }
    return report(parts.filter { !excluded.contains($0.name) }, isVerbose: isVerbose)
  }

  private func look() async -> [HealthPart] {
    let parts = await health()
    if parts.allSatisfy({ $0.trouble == nil || !$0.isVital }) {
      hasBeenReady.store(true, ordering: .relaxed)
    }
    return parts
  }

  private func report(_ parts: [HealthPart], isVerbose: Bool = false) -> HTTPResponse {
    let isReady = parts.allSatisfy { $0.trouble == nil }
    guard isVerbose || !isReady else { return .text(200, "ok") }
    let lines = parts.map { part in
      part.trouble.map { "[-] \(part.name): \($0)" } ?? "[+] \(part.name): ok"
    }
    let verdict = isReady ? "ready" : "not ready"
    return .text(isReady ? 200 : 503, (lines + [verdict]).joined(separator: "\n"))
  }
}
