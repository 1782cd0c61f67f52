import Devices
import EventLoop
import Model
import Terminal

/// A whole worker from the Kafka event to the settled counters, against h2load in the same run.
/// The worker's CPU time is read from /proc just before the event is written and when its last
/// counter is.
struct WorkerBench {
  static let ratioLimit = 2.5
  private static let streamer = "bench-worker"

  let household: Household
  let options: BenchOptions

  func run() async throws(CommandFailure) -> [BenchResult] {
    let ensemble = try await Ensemble.start(
      household, templates: options.templates, lanes: options.lanes,
      simulatorOptions: BenchTraffic.simulatorOptions)
    defer { ensemble.close() }
    try await seed(ensemble)
    try await ensemble.startWorker()
    let load = try LoadGenerator(household, ensemble.simulator)
    var h2load = LoadGenerator.Series(requests: options.pushes)
    var worker: [FanOut] = []
    for run in 1...options.runs {
      let fanOut = try await FanOut.run(
        DemoEvent(id: "bench-worker-\(run)", streamer: Self.streamer), on: ensemble)
      guard fanOut.status.accepted == options.pushes else {
        throw CommandFailure(
          .failed,
          "of the worker's \(Figures.grouped(options.pushes)) pushes "
            + "\(Figures.grouped(fanOut.status.accepted)) were accepted")
      }
      worker.append(fanOut)
      try await load.run(options.pushes, into: &h2load)
      let cost = Figures.time(nanoseconds: fanOut.cpuMicrosecondsPerPush * 1_000)
      options.note("worker", run, "worker \(cost), h2load \(h2load.last)")
    }
    let costs = worker.map(\.cpuMicrosecondsPerPush)
    return try LoadGenerator.results(h2load) + [
      try BenchResult(
        "worker_cpu_us", "whole worker: CPU a push", costs, unit: " µs", digits: 2),
      try BenchResult(
        "worker_ratio", "whole worker ÷ h2load",
        zip(costs, h2load.costs).map { $0 / $1 }, unit: "×", digits: 2,
        limit: Self.ratioLimit),
      try BenchResult(
        "worker_per_second", "whole worker: pushes a second",
        worker.map { Double($0.sentPushes) * 1_000 / $0.elapsedMilliseconds }, unit: "",
        digits: 0),
    ]
  }

  /// One device each, so that recipients and pushes are the same number.
  private func seed(_ ensemble: Ensemble) async throws(CommandFailure) {
    let people = SyntheticAudience(
      followers: options.pushes, seed: 1, topic: Ensemble.app, mutedShare: 0)
    try await options.seeding("\(Figures.grouped(options.pushes)) followers", options.pushes) {
      (progress) async throws(CommandFailure) in
      try await ensemble.seed(
        streamer: Self.streamer, followers: options.pushes, progress: progress
      ) { index in
        let row = people.row(index)
        let binding = Binding(
          environment: .production, topic: Ensemble.app, token: people.token(index, device: 0))
        return AudienceRow(
          user: row.user, profile: row.profile, bindings: binding.map { [$0] } ?? [],
          boundAt: row.boundAt)
      }
    }
  }
}
