import Devices
import EventLoop
import LocalStack
import Model
import Terminal

/// A whole worker from the Kafka event to the settled counters, against h2load in the same run.
/// The worker's CPU time is read from /proc just before the event is written and when its last
/// counter is.
package struct WorkerBench {
  package static let ratioLimit = 2.5
  private static let streamer = "bench-worker"

  package let processes: ChildProcesses
  package let options: BenchOptions

  package func run() async throws(LocalStackError) -> [BenchResult] {
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: options.lanes,
      simulatorOptions: BenchTraffic.simulatorOptions)
    defer { stack.close() }
    try await seed(stack)
    try await stack.startWorker()
    let load = try LoadGenerator(processes, stack.simulator)
    var h2load = LoadGenerator.Series(requests: options.pushes)
    var worker: [FanOut] = []
    for run in 1...options.runs {
      let fanOut = try await FanOut.run(
        GoLiveEvent(id: "bench-worker-\(run)", streamer: Self.streamer), on: stack)
      guard fanOut.status.accepted == options.pushes else {
        throw LocalStackError(
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
      try BenchResult(
        "redis_cpu_us", "Redis: CPU a push", worker.map(\.redisMicrosecondsPerPush), unit: " µs",
        digits: 2),
    ]
  }

  static func people(_ count: Int) -> SyntheticAudience {
    SyntheticAudience(followers: count, seed: 1, topic: LocalStack.app, mutedShare: 0)
  }

  /// One device each, so that recipients and pushes are the same number.
  static func row(_ people: SyntheticAudience, _ index: Int) -> AudienceRow {
    let row = people.row(index)
    let binding = Binding(
      environment: .production, topic: LocalStack.app, token: people.token(index, device: 0))
    return AudienceRow(
      user: row.user, profile: row.profile, bindings: binding.map { [$0] } ?? [],
      boundAt: row.boundAt)
  }

  private func seed(_ stack: LocalStack) async throws(LocalStackError) {
    let people = Self.people(options.pushes)
    try await options.seeding("\(Figures.grouped(options.pushes)) followers", options.pushes) {
      (progress) async throws(LocalStackError) in
      try await stack.seed(
        streamer: Self.streamer, followers: options.pushes, progress: progress
      ) { Self.row(people, $0) }
    }
  }
}
