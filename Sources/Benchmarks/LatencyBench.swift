import Devices
import EventLoop
import LocalStack
import Model
import Processes
import ServerProcesses
import Terminal

/// From the append of an event to the first push at the push service, while nothing else is going
/// on: each event has its own streamer with one follower, whose token tells it in the ledger.
package struct LatencyBench {
  package let processes: ChildProcesses
  package let options: BenchOptions

  /// On the embedded broker, and on an Apache Kafka where `FANFARE_KAFKA_HOME` names one.
  package func run() async throws(LocalRunError) -> [BenchResult] {
    let embedded = try await run(on: nil, "first_push_ms", "first push after the append")
    guard RealKafka.home != nil else { return embedded }
    await processes.stopAll()
    let kafka = try RealKafka()
    return embedded
      + (try await run(on: kafka, "first_push_kafka_ms", "the same on Apache Kafka"))
  }

  private func run(
    on kafka: RealKafka?, _ name: String, _ title: String
  ) async throws(LocalRunError) -> [BenchResult] {
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: options.lanes, kafka: kafka)
    defer { stack.close() }
    let people = SyntheticAudience(
      followers: (options.events + 1) * options.runs, seed: 3, topic: LocalStack.app, mutedShare: 0)
    try await options.seeding("one follower for each event", people.followers) {
      (progress) async throws(LocalRunError) in
      for number in 0..<people.followers {
        try await seed(people, number, stack)
        progress(number + 1)
      }
    }
    try await stack.startWorker()
    var medians: [Double] = []
    var tails: [Double] = []
    for run in 1...options.runs {
      let times = try await measure(people, run: run, stack)
      medians.append(times.median)
      tails.append(times.percentile(99))
      options.note(
        "latency", run,
        "median \(Figures.fixed(times.median)) ms, p99 \(Figures.fixed(times.percentile(99))) ms")
    }
    return [
      try BenchResult(
        "\(name)_p50", "\(title), median", medians, unit: " ms", digits: 1),
      try BenchResult("\(name)_p99", "\(title), p99", tails, unit: " ms", digits: 1),
    ]
  }

  private func streamer(_ number: Int) -> String { "bench-latency-\(number)" }

  private func seed(
    _ people: SyntheticAudience, _ number: Int, _ stack: LocalStack
  ) async throws(LocalRunError) {
    let row = people.row(number)
    let binding = Binding(
      destination: .production, topic: LocalStack.app, token: people.token(number, device: 0))
    try await stack.seed(streamer: streamer(number), followers: 1) { _ in
      AudienceRow(
        user: row.user, profile: row.profile, bindings: binding.map { [$0] } ?? [],
        boundAt: row.boundAt)
    }
  }

  private func measure(
    _ people: SyntheticAudience, run: Int, _ stack: LocalStack
  ) async throws(LocalRunError) -> Measurements {
    let first = (run - 1) * (options.events + 1)
    var emitted: [Int: Int64] = [:]
    for number in first...first + options.events {
      // An even spread of pauses, so that no event keeps step with anybody's timer.
      await processes.loop.wait(.milliseconds(20 + number * 37 % 60))
      let fanOut = try await MeasuredFanOut.run(
        GoLiveEvent(id: streamer(number), streamer: streamer(number)), on: stack)
      emitted[number] = fanOut.emittedAt
    }
    // The first of a run finds cold caches and is not idle running.
    emitted[first] = nil
    let ledger = try await stack.simulator.ledger()
    var times: [Double] = []
    for (number, emittedAt) in emitted {
      guard let token = TokenKey(people.token(number, device: 0)), let entry = ledger[token] else {
        throw LocalRunError(.failed, "the push of event \(streamer(number)) never arrived")
      }
      times.append(Double(entry.firstArrival - emittedAt) / 1_000)
    }
    guard let measurements = Measurements(times) else {
      throw LocalRunError(.failed, "no event was measured")
    }
    return measurements
  }
}
