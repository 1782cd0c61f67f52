import EventLoop
import Processes
import ServerProcesses
import Terminal

/// The sending path to FCM against h2load: same server, same headers, same body size, one path.
/// CPU time as in `DeliverBench`. A push to FCM has a larger body than one to Apple, and a token of
/// a kilobyte in its header, so its figures say nothing of Apple's.
struct FCMBench: Bench {
  static let ratioLimit = 1.1

  let processes: ChildProcesses
  let options: BenchOptions

  func run() async throws(LocalRunError) -> [BenchResult] {
    let simulator = try await LocalServers.simulator(
      of: .fcm, processes, options: FCMTraffic.simulatorOptions)
    let tokens = try FCMTraffic.tokens(simulator, randomNumber: processes.loop.randomNumber())
    let token = try await FCMTraffic.firstToken(of: tokens, on: processes.loop)
    let load = try LoadGenerator(processes, simulator, try FCMTraffic.request(simulator, token))
    var h2load = LoadGenerator.Series(requests: options.pushes)
    var sender = LoadGenerator.Series(requests: options.pushes)
    for run in 1...options.runs {
      let idle = try await send(BenchTraffic.idleRequests, simulator)
      sender.add(busy: try await send(options.pushes, simulator), idle: idle)
      try await load.run(options.pushes, into: &h2load)
      options.note("fcm", run, "sender \(sender.last), h2load \(h2load.last)")
    }
    return try LoadGenerator.results(h2load, name: "fcm_h2load", title: "h2load at FCM") + [
      try BenchResult("fcm_cpu_us", "FCM: CPU a push", sender.costs, unit: " µs", digits: 2),
      try BenchResult.ratio(
        "fcm_ratio", "FCM ÷ h2load", zip(sender.costs, h2load.costs).map { $0 / $1 },
        limit: Self.ratioLimit),
      try BenchResult(
        "fcm_per_second", "FCM: pushes a second", sender.rates, unit: "", digits: 0),
      try BenchResult(
        "fcm_body_bytes", "FCM: body", [Double(FCMTraffic.body.count)], unit: " bytes", digits: 0),
      try BenchResult(
        "apns_body_bytes", "Apple: body of the same push",
        [Double(BenchTraffic.payload.bytes.count)], unit: " bytes", digits: 0),
    ]
  }

  private func send(
    _ pushes: Int, _ simulator: SimulatorProcess
  ) async throws(LocalRunError) -> LoadGenerator.Process {
    try await BenchSender.measure(
      BenchSender.Order(.fcm, pushes: pushes, readyFile: simulator.readyFile), processes)
  }
}
