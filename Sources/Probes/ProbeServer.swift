import EventLoop
import HTTPServer
import Synchronization
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

/// Whether the threads of a process do anything. One look at a time: a thread that is stuck keeps
/// one look waiting, not one for each probe.
actor ThreadLiveness {
  private let loop: EventLoop
  private let limit: Duration
  private let ticks: @Sendable () async -> Void
  private var isLooking = false
  private var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
  private var lastNumber = 0

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(loop: EventLoop, limit: Duration, ticks: @escaping @Sendable () async -> Void) {
    self.loop = loop
    self.limit = limit
    self.ticks = ticks
  }

  /// False when they have not within the limit.
  func areAlive() async -> Bool {
    lastNumber += 1
    let number = lastNumber
    loop.schedule(after: limit) { [weak self] in
      self?.assumeIsolated { $0.waiting.removeValue(forKey: number)?.resume(returning: false) }
    }
    if !isLooking {
      isLooking = true
      Task {
        await ticks()
        isLooking = false
        for waiter in waiting.values { waiter.resume(returning: true) }
        waiting = [:]
      }
    }
    return await withCheckedContinuation { waiting[number] = $0 }
  }
}

/// The answers to probes, by path.
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

  /// Parts that are not vital may come later.
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
