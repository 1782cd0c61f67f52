import EventLoop
import LocalStack
import Processes
import Terminal

/// A whole worker from the Kafka event to the settled counters, against h2load in the same run.
/// The worker's CPU time is read from /proc just before the event is written and when its last
/// counter is.
package struct WorkerBench {
  static let ratioLimit = 2.5
  /// Microseconds; some 4 were measured.
  static let redisLimit = 5.0
  private static let streamer = "bench-worker"

  package let processes: ChildProcesses
  package let options: BenchOptions

  package func run() async throws(LocalRunError) -> [BenchResult] {
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: options.lanes,
      simulatorOptions: BenchTraffic.simulatorOptions)
    defer { stack.close() }
    let audience = BenchAudience(streamer: Self.streamer, options: options)
    try await audience.seed(stack)
    try await stack.startWorker()
    let load = try LoadGenerator(processes, stack.simulator)
    try await audience.warm(stack)
    var h2load = LoadGenerator.Series(requests: options.pushes)
    var worker: [MeasuredFanOut] = []
    for run in 1...options.runs {
      let fanOut = try await audience.fanOut(run, on: stack)
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
        digits: 2, limit: Self.redisLimit),
    ]
  }
}
