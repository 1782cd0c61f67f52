import EventLoop
import Processes
import ServerProcesses
import Terminal

/// The sending path against h2load: same server, same headers, same body size, distinct paths.
/// Both figures are CPU time from the system's accounting, of a whole process less that of the same
/// process with next to nothing to send: h2load spends a fifth of its time on reading the paths.
struct DeliverBench: Bench {
  static let ratioLimit = 1.3

  let processes: ChildProcesses
  let options: BenchOptions

  func run() async throws(LocalRunError) -> [BenchResult] {
    let simulator = try await LocalServers.simulator(
      processes, options: BenchTraffic.simulatorOptions)
    let load = try LoadGenerator(processes, simulator)
    var h2load = LoadGenerator.Series(requests: options.pushes)
    var sender = LoadGenerator.Series(requests: options.pushes)
    for run in 1...options.runs {
      let idle = try await send(BenchTraffic.idleRequests, simulator)
      sender.add(busy: try await send(options.pushes, simulator), idle: idle)
      try await load.run(options.pushes, into: &h2load)
      options.note("deliver", run, "sender \(sender.last), h2load \(h2load.last)")
    }
    let plain = try await againstNghttpd(load)
    return try LoadGenerator.results(h2load) + [
      try BenchResult(
        "deliver_cpu_us", "deliver only: CPU a push", sender.costs, unit: " µs", digits: 2),
      try BenchResult.ratio(
        "deliver_ratio", "deliver only ÷ h2load", zip(sender.costs, h2load.costs).map { $0 / $1 },
        limit: Self.ratioLimit),
      try BenchResult(
        "deliver_per_second", "deliver only: pushes a second", sender.rates, unit: "", digits: 0),
    ] + plain
  }

  private func send(
    _ pushes: Int, _ simulator: SimulatorProcess
  ) async throws(LocalRunError) -> LoadGenerator.Process {
    try await BenchSender.measure(
      BenchSender.Order(.apns, pushes: pushes, readyFile: simulator.readyFile), processes)
  }

  /// For context only: nghttpd knows no device and answers 404, so its share of the work is less.
  private func againstNghttpd(_ load: LoadGenerator) async throws(LocalRunError) -> [BenchResult] {
    let program = try Executable.find("nghttpd", package: "nghttp2-server")
    let port = try LocalPort.findFree()
    let files = processes.directory.file("apns")
    // Serves a directory with nothing in it: ours holds keys.
    let served = try processes.directory.makeDirectory("nghttpd")
    let process = try processes.start(
      "nghttpd",
      [
        program, "-a", "127.0.0.1", "-m", "\(BenchTraffic.streamsPerConnection)", "-d",
        served, "\(port)", "\(files)/server.key", "\(files)/server.pem",
      ])
    _ = try await processes.wait("nghttpd was not ready", within: .seconds(10), blaming: process) {
      () async throws(LocalRunError) -> Bool? in LocalPort.isListening(port) ? true : nil
    }
    var h2load = LoadGenerator.Series(requests: options.pushes)
    for run in 1...options.runs {
      try await load.run(
        options.pushes, into: &h2load, url: "https://127.0.0.1:\(port)", mustSucceed: false)
      options.note("nghttpd", run, "h2load \(h2load.last)")
    }
    return try LoadGenerator.results(
      h2load, name: "nghttpd_h2load", title: "h2load at nghttpd (404)")
  }
}
