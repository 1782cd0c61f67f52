import Devices
import LocalStack
import Processes
import Terminal

/// How much sooner a large event is over when two and four workers share it, with an Apple that is
/// 60 ms away and takes so many streams that four workers, Redis, the broker and the simulator fit
/// into the cores of one machine: then a worker waits for answers, and what others could take from
/// it is not a core, but its part of the work.
package struct ScaleBench {
  /// Of four workers.
  static let leastRatio = 3.8
  private static let followers = 400_000
  private static let latency = "60ms"
  /// A connection; with two of them a worker sends some 10,000 a second.
  private static let streams = "300"
  private static let counts = [1, 2, 4]

  package let processes: ChildProcesses
  package let options: BenchOptions

  package func run() async throws(LocalRunError) -> [BenchResult] {
    // With a lane each: four workers with one for each core would measure the cores.
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: 1,
      simulatorOptions: [
        "--latency", Self.latency, "--first-streams", Self.streams, "--streams", Self.streams,
      ], connections: 2)
    defer { stack.close() }
    let people = SyntheticAudience(followers: Self.followers, seed: 8, topic: LocalStack.app)
    try await options.seeding("\(Figures.grouped(people.followers)) followers", people.followers) {
      (progress) async throws(LocalRunError) in
      try await stack.seed(
        streamer: Self.streamer, followers: people.followers, progress: progress, row: people.row)
    }
    var seconds: [Int: [Double]] = [:]
    for count in Self.counts {
      try await stack.startWorkers(upTo: count)
      for run in 1...options.runs {
        let event = GoLiveEvent(id: "\(Self.streamer)-\(count)-\(run)", streamer: Self.streamer)
        let emittedAt = try await stack.emit(event)
        let status = try await stack.settled(event)
        let time = Double(Int64(status.lastPushAt) * 1_000 - emittedAt) / 1_000_000
        seconds[count, default: []].append(time)
        options.note(
          "scale", run, "\(count) \(count == 1 ? "worker" : "workers"): \(Figures.fixed(time)) s")
      }
    }
    guard let alone = Measurements(seconds[1] ?? [])?.median else {
      throw LocalRunError(.failed, "no event was measured")
    }
    return [
      try BenchResult(
        "scale_one_s", "400,000 followers, 60 ms latency, one worker of one lane", seconds[1] ?? [],
        unit: " s", digits: 1),
      try BenchResult(
        "scale_two_ratio", "the same ÷ with two workers", (seconds[2] ?? []).map { alone / $0 },
        unit: "×", digits: 2),
      try BenchResult(
        "scale_four_ratio", "the same ÷ with four", (seconds[4] ?? []).map { alone / $0 },
        unit: "×", digits: 2, least: Self.leastRatio),
    ]
  }

  private static let streamer = "bench-scale"
}
