import Devices
import Evaluation
import EventLoop
import Model
import Terminal

/// From the append of an event to the first push at the push service, while nothing else is going
/// on: each event has its own streamer with one follower, whose token tells it in the ledger.
struct LatencyBench {
  let household: Household
  let options: BenchOptions

  func run() async throws(CommandFailure) -> [BenchResult] {
    let ensemble = try await Ensemble.start(
      household, templates: options.templates, lanes: options.lanes)
    defer { ensemble.close() }
    let people = SyntheticAudience(
      followers: (options.events + 1) * options.runs, seed: 3, topic: Ensemble.app, mutedShare: 0)
    try await options.seeding("one follower for each event", people.followers) {
      (progress) async throws(CommandFailure) in
      for number in 0..<people.followers {
        try await seed(people, number, ensemble)
        progress(number + 1)
      }
    }
    try await ensemble.startWorker()
    var medians: [Double] = []
    var tails: [Double] = []
    for run in 1...options.runs {
      let times = try await measure(people, run: run, ensemble)
      medians.append(times.median)
      tails.append(times.percentile(99))
      options.note(
        "latency", run,
        "median \(Figures.fixed(times.median)) ms, p99 \(Figures.fixed(times.percentile(99))) ms")
    }
    return [
      try BenchResult(
        "first_push_ms_p50", "first push after the append, median", medians, unit: " ms",
        digits: 1),
      try BenchResult(
        "first_push_ms_p99", "first push after the append, p99", tails, unit: " ms", digits: 1),
    ]
  }

  private func streamer(_ number: Int) -> String { "bench-latency-\(number)" }

  private func seed(
    _ people: SyntheticAudience, _ number: Int, _ ensemble: Ensemble
  ) async throws(CommandFailure) {
    let row = people.row(number)
    let binding = Binding(
      environment: .production, topic: Ensemble.app, token: people.token(number, device: 0))
    try await ensemble.seed(streamer: streamer(number), followers: 1) { _ in
      AudienceRow(
        user: row.user, profile: row.profile, bindings: binding.map { [$0] } ?? [],
        boundAt: row.boundAt)
    }
  }

  private func measure(
    _ people: SyntheticAudience, run: Int, _ ensemble: Ensemble
  ) async throws(CommandFailure) -> Measurements {
    let first = (run - 1) * (options.events + 1)
    var emitted: [Int: Int64] = [:]
    for number in first...first + options.events {
      // An even spread of pauses, so that no event keeps step with anybody's timer.
      await household.loop.wait(.milliseconds(20 + number * 37 % 60))
      let fanOut = try await FanOut.run(
        DemoEvent(id: streamer(number), streamer: streamer(number)), on: ensemble)
      emitted[number] = fanOut.emittedAt
    }
    // The first of a run finds cold caches and is not idle running.
    emitted[first] = nil
    let ledger = try await ensemble.simulator.ledger()
    var times: [Double] = []
    for (number, emittedAt) in emitted {
      guard let token = TokenKey(people.token(number, device: 0)), let entry = ledger[token] else {
        throw CommandFailure(.failed, "the push of event \(streamer(number)) never arrived")
      }
      times.append(Double(entry.firstArrival - emittedAt) / 1_000)
    }
    guard let measurements = Measurements(times) else {
      throw CommandFailure(.failed, "no event was measured")
    }
    return measurements
  }
}
