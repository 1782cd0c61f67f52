import EventLoop
import Glibc
import HTTPServer
import LocalStack
import Processes
import ServerProcesses
import Telemetry
import Terminal
import Threads

/// Measures what a worker pays for being watched: a dashboard open in a browser, a tap at its
/// default rate, and traces at a collector, beside a worker that nobody watches. Events are traced
/// as a whole or not at all, so the measured ones all are. Only the worker's own CPU time counts.
struct WatchedBench: Bench {
  static let ratioLimit = 1.03
  private static let streamer = "bench-watched"
  /// A worker looks for taps with its heartbeats.
  private static let tapDelay: Duration = .seconds(3)
  /// Of a worker, behind one that warms it.
  private static let events = 5
  private static let startTimeout: Duration = .seconds(20)

  let processes: ChildProcesses
  let options: BenchOptions

  func run() async throws(LocalRunError) -> [BenchResult] {
    let curl = try Executable.find("curl", package: "curl")
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: options.lanes,
      platforms: [.apns(BenchTraffic.simulatorOptions)])
    defer { stack.close() }
    let collector = Collector()
    defer { collector.stop() }
    let endpoint = try await collector.start()
    let traces = "traces: { endpoint: \"\(endpoint)\", sample: 100% }\n"
    let audience = BenchAudience(streamer: Self.streamer, options: options)
    try await audience.seed(stack)
    var alone: [Double] = []
    var watched: [Double] = []
    for run in 1...options.runs {
      alone.append(try await cost("\(run)-alone", audience, stack))
      try await stack.startWorker(adding: traces)
      let watchers = try await watch(stack, curl)
      await processes.loop.wait(Self.tapDelay)
      watched.append(try await measured("\(run)-watched", audience, stack))
      for watcher in watchers.reversed() { try await end(watcher) }
      try await stack.stopWorker()
      options.note(
        "watched", run,
        "\(Figures.fixed(alone[run - 1], digits: 2)) µs alone, "
          + "\(Figures.fixed(watched[run - 1], digits: 2)) µs watched")
    }
    guard collector.requests > 0 else {
      throw LocalRunError(.failed, "the collector of traces got no span")
    }
    return [
      try BenchResult(
        "unwatched_cpu_us", "worker that nobody watches: CPU a push", alone, unit: " µs",
        digits: 2),
      try BenchResult(
        "watched_cpu_us", "with dashboard, tap and traces: CPU a push", watched, unit: " µs",
        digits: 2),
      try BenchResult.ratio(
        "watched_ratio", "with dashboard, tap and traces ÷ without",
        zip(watched, alone).map { $0 / $1 }, limit: Self.ratioLimit),
    ]
  }

  /// Of a worker that is started for it.
  private func cost(
    _ name: String, _ audience: BenchAudience, _ stack: LocalStack
  ) async throws(LocalRunError) -> Double {
    try await stack.startWorker()
    // As long as the other, so that both are measured at the same age.
    await processes.loop.wait(Self.tapDelay)
    let cost = try await measured(name, audience, stack)
    try await stack.stopWorker()
    return cost
  }

  /// CPU time a push, in microseconds: the median of several events.
  private func measured(
    _ name: String, _ audience: BenchAudience, _ stack: LocalStack
  ) async throws(LocalRunError) -> Double {
    _ = try await audience.fanOut("\(name)-warm", on: stack)
    var costs: [Double] = []
    for number in 1...Self.events {
      let fanOut = try await audience.fanOut("\(name)-\(number)", on: stack)
      costs.append(fanOut.cpuMicrosecondsPerPush)
    }
    guard let measurements = Measurements(costs) else {
      throw LocalRunError(.failed, "no event was measured")
    }
    return measurements.median
  }

  /// However it ends: curl has no other way to stop than the signal.
  private func end(_ watcher: RunProcess) async throws(LocalRunError) {
    watcher.isNeeded = false
    watcher.signal(SIGTERM)
    try await processes.wait("\(watcher.name) did not end", within: Self.startTimeout) {
      watcher.isRunning ? nil : ()
    }
  }

  /// A tap, a dashboard, and a client that reads the dashboard's events, in this order.
  private func watch(
    _ stack: LocalStack, _ curl: String
  ) async throws(LocalRunError) -> [RunProcess] {
    let port = try LocalPort.findFree()
    let tap = try processes.start(
      "tap", [Executable.own, "tap", "--json", "--config", stack.configuration])
    let dashboard = try processes.start(
      "dashboard",
      [Executable.own, "dashboard", "--port", "\(port)", "--config", stack.configuration])
    try await processes.wait(
      "the dashboard did not listen", within: Self.startTimeout, blaming: dashboard
    ) { LocalPort.isListening(port) ? () : nil }
    let browser = try processes.start(
      "browser",
      [
        curl, "--silent", "--no-buffer", "--header", "Accept: text/event-stream",
        "http://127.0.0.1:\(port)/v1/live/fanouts",
      ])
    return [tap, dashboard, browser]
  }
}

/// Takes every request, as a collector of OpenTelemetry that keeps up.
private final class Collector: Sendable {
  private let loop = EventLoop(name: "collector")
  private let server: HTTPServer
  private let count = ThreadLock(0)

  init() {
    let options = HTTPServerOptions(wallClock: { WallClock.nowMilliseconds() })
    server = HTTPServer(loop: loop, options: options) { [count] _ in
      count.withLock { $0 += 1 }
      return .text(200, "{}")
    }
  }

  var requests: Int { count.withLock { $0 } }

  /// Returns the address.
  func start() async throws(LocalRunError) -> String {
    do {
      return "http://127.0.0.1:\(try await server.start())/v1/traces"
    } catch {
      throw LocalRunError(.failed, "the collector of traces cannot listen: \(error)")
    }
  }

  func stop() { loop.stop() }
}
