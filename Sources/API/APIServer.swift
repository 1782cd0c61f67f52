import EventLoop
import HTTPServer
import Telemetry

/// The API of devices, users and events, on threads of its own. Each of them takes in clients at
/// the one port, answers them from the head of a request to its answer, and has connections to
/// Redis of its own; the kernel shares out who comes.
package final class APIServer: Sendable {
  private struct Thread: Sendable {
    let loop: EventLoop
    let service: APIService
    let server: HTTPServer
  }

  /// At least one.
  private let threads: [Thread]
  private let shared: APISharedState
  private let audit: Log?
  private let log: Log
  private let version: String
  private let libraries: [String: String]
  private let templateReloads: @Sendable () -> ReloadFigures
  /// How long what was asked may take when the server stops.
  private let drainLimit: Duration
  private let isReadOnly: Bool

  package init(_ options: APIOptions) {
    drainLimit = options.http.exchangeTimeout
    audit = options.audit
    isReadOnly = options.isReadOnly
    log = options.log
    version = options.version
    libraries = options.libraries
    templateReloads = options.templateReloads
    // An import keeps its connection: no thread has fewer than there may be imports, and one more.
    let places = options.http.maximumConnections / (options.imports.atOnce + 1)
    let count = max(1, min(options.threads, places))
    let loops = (0..<count).map { EventLoop(name: $0 == 0 ? "api" : "api \($0)") }
    let shared = APISharedState(options, loop: loops[0])
    self.shared = shared
    threads = loops.enumerated().map { index, loop in
      let service = APIService(options, shared, loop: loop)
      var http = Self.http(of: index, in: count, options)
      http.refusal = { service.refusal($0, $1) }
      let server = HTTPServer(
        loop: loop, options: http,
        screen: { head in service.assumeIsolated { $0.screen(head) } }, staysOnLoop: true,
        answer: { await service.answer($0) })
      return Thread(loop: loop, service: service, server: server)
    }
  }

  /// Of all threads together; each keeps half of its connections for requests, at least.
  static let maximumStreams = 64

  static func streams(of options: APIOptions) -> Int {
    min(maximumStreams, options.http.maximumConnections / 2)
  }

  /// All together are given what one alone would be.
  private static func http(
    of index: Int, in count: Int, _ options: APIOptions
  ) -> HTTPServerOptions {
    var http = options.http
    // Each route has a bound of its own.
    http.maximumBodyBytes = max(
      APIRoute.usualBodyBytes, options.ingest.maximumEventBytes, TagRoutes.maximumBodyBytes,
      DeadLetterRoutes.maximumBodyBytes(options.ingest))
    let connections = http.maximumConnections
    http.maximumStreams = max(1, streams(of: options) / count)
    guard count > 1 else { return http }
    http.maximumConnections = connections / count + (index < connections % count ? 1 : 0)
    http.maximumBodiesBytes = http.maximumBodiesBytes.map { $0 / count }
    http.sharesPort = true
    return http
  }

  /// Listens, and returns the port. Redis and Kafka need not be there yet.
  package func start() async throws(HTTPServerError) -> Int {
    await shared.start()
    for thread in threads { await thread.service.start() }
    if !isReadOnly { await threads[0].service.namePermissions() }
    do throws(HTTPServerError) {
      let port = try await threads[0].server.start()
      for thread in threads.dropFirst() { _ = try await thread.server.start(at: port) }
      return port
    } catch {
      await stop()
      throw error
    }
  }

  /// Stops the API. Requests that have arrived are answered first, within `drainLimit`.
  package func stop() async {
    await withTaskGroup { group in
      for thread in threads {
        group.addTask { [drainLimit] in await thread.server.drain(within: drainLimit) }
      }
    }
    for thread in threads { await thread.server.stop() }
    for thread in threads { await thread.service.close() }
    await shared.close()
    for thread in threads { thread.loop.stop() }
  }

  /// Keys that are good from now on.
  package func use(_ keys: APIKeyRing) async {
    for thread in threads { await thread.service.use(keys) }
    // Viewers come back with a key that is good, or not at all.
    await shared.dashboard.endStreams()
  }

  /// The certificate for new connections. If it is refused, the first thread throws, and all keep
  /// the one before. A further one may throw for want of memory; calling it again is safe.
  package func show(_ identity: HTTPServerIdentity) async throws(HTTPServerError) {
    for thread in threads { try await thread.server.show(identity) }
  }

  /// Returns when every thread has done something.
  package func tick() async {
    for thread in threads { await thread.loop.answers() }
    await shared.dashboard.tick()
  }

  /// Of all threads: what is wrong with one of them is wrong; and of Kafka, which they share.
  package func health() async -> [HealthPart] {
    await healthOfThreads() + [await shared.health()].compactMap(\.self)
  }

  private func healthOfThreads() async -> [HealthPart] {
    // Side by side: each may wait for a Redis that says nothing.
    await withTaskGroup { group in
      for thread in threads { group.addTask { await thread.service.health() } }
      return await group.reduce(into: []) { parts, further in
        parts = parts.isEmpty ? further : zip(parts, further).map { $0.trouble == nil ? $1 : $0 }
      }
    }
  }

  package func metrics() async -> PrometheusText {
    var sum = APIMetrics()
    for thread in threads { sum = sum + (await thread.service.currentMetrics) }
    if let audit = audit?.statistics {
      sum.audited = (
        audit.written.values.reduce(0, +), audit.dropped,
        shared.refused.withLock { $0.withheld }
      )
    }
    sum.dashboard = await shared.dashboard.metrics
    sum.templateReloads = templateReloads()
    var text = sum.text
    APIProcessMetrics.append(
      await health(), version: version, log: log.statistics, libraries: libraries, to: &text)
    return text
  }

  package var threadCount: Int { threads.count }

  /// How many requests each thread has answered.
  var answeredByEach: [Int] {
    get async {
      var counts: [Int] = []
      for thread in threads { counts.append(await thread.service.currentMetrics.requestCount) }
      return counts
    }
  }

  /// All that there are, as they are documented.
  var routes: [(method: String, pattern: String, scope: APIScope?)] {
    get async { await threads[0].service.patterns }
  }
}
