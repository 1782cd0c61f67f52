import Devices
import EventLoop
import LocalStack
import Processes
import ServerProcesses
import Terminal
import Text

/// Measures how much a giant in progress delays an event of usual size: the time from its append to
/// the answer to its last push, beside the giant and without one. Times are those of the
/// simulator's ledger.
struct FairnessBench: Bench {
  static let ratioLimit = 1.5
  static let mediumRatioLimit = 3.0
  static let withoutLatencyLimitMilliseconds = 50.0
  private static let giantFollowers = 1_000_000
  private static let smallFollowers = 20
  private static let mediumFollowers = 5_000
  /// So that a giant lasts longer than what is measured beside it.
  private static let pause = Duration.milliseconds(40)

  let processes: ChildProcesses
  let options: BenchOptions

  func run() async throws(LocalRunError) -> [BenchResult] {
    let far = try await measure(latencyMilliseconds: 60)
    await processes.stopAll()
    let near = try await measure(latencyMilliseconds: 0)
    return [
      try BenchResult(
        "fair_small_60ms_ms", "20 followers beside a giant, 60 ms latency, median",
        far.map(\.small.median), unit: " ms", digits: 1),
      try BenchResult.ratio(
        "fair_small_60ms_p50_ratio", "the same ÷ without the giant",
        far.map { $0.small.median / $0.smallAlone.median },
        limit: Self.ratioLimit),
      try BenchResult.ratio(
        "fair_small_60ms_p99_ratio", "the same, p99",
        far.map { $0.small.percentile(99) / $0.smallAlone.percentile(99) },
        limit: Self.ratioLimit),
      try BenchResult.ratio(
        "fair_medium_60ms_ratio", "5,000 followers beside a giant ÷ without",
        far.map { $0.medium / $0.mediumAlone },
        limit: Self.mediumRatioLimit),
      try BenchResult(
        "fair_small_p50_ms", "20 followers beside a giant, no latency, median",
        near.map(\.small.median), unit: " ms", digits: 1),
      try BenchResult(
        "fair_small_p99_ms", "the same, p99", near.map { $0.small.percentile(99) }, unit: " ms",
        digits: 1, limit: Self.withoutLatencyLimitMilliseconds),
      try BenchResult.ratio(
        "fair_medium_ratio", "5,000 followers beside a giant ÷ without",
        near.map { $0.medium / $0.mediumAlone },
        limit: Self.mediumRatioLimit),
    ]
  }

  /// Milliseconds from the append to the last push.
  private struct Times {
    let smallAlone: Measurements
    let mediumAlone: Double
    let small: Measurements
    let medium: Double
  }

  private func measure(latencyMilliseconds: Int) async throws(LocalRunError) -> [Times] {
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: options.lanes,
      platforms: [
        .apns(latencyMilliseconds == 0 ? [] : ["--latency", "\(latencyMilliseconds)ms"])
      ])
    defer { stack.close() }
    let people = SyntheticAudience(
      followers: Self.giantFollowers, seed: 4, topic: LocalStack.app, userPrefix: "giant-")
    try await options.seeding("\(Figures.grouped(people.followers)) followers", people.followers) {
      (progress) async throws(LocalRunError) in
      try await stack.seed(
        streamer: Self.giant, followers: people.followers, progress: progress, row: people.row)
    }
    try await stack.startWorker()
    var all: [Times] = []
    for run in 1...options.runs {
      let times = try await measure(run, latencyMilliseconds, stack)
      all.append(times)
      options.note(
        "fairness", run,
        "\(latencyMilliseconds) ms latency: 20 followers p50 \(Self.text(times.smallAlone, 50)), "
          + "p99 \(Self.text(times.smallAlone, 99)) ms, beside a giant p50 "
          + "\(Self.text(times.small, 50)), p99 \(Self.text(times.small, 99)) ms; 5,000 followers "
          + "\(Figures.fixed(times.mediumAlone)) ms, beside a giant "
          + "\(Figures.fixed(times.medium)) ms")
    }
    return all
  }

  private static func text(_ measurements: Measurements, _ percent: Double) -> String {
    Figures.fixed(measurements.percentile(percent))
  }

  private static let giant = "bench-giant"

  /// An event that is measured: those of 20 followers, and the last of each half one of 5,000.
  private struct Probe {
    let number: Int
    let followers: Int
    var emittedAt: Int64 = 0

    var event: GoLiveEvent {
      GoLiveEvent(id: "bench-fair-\(number)", streamer: "bench-fair-\(number)")
    }

    func token(_ follower: Int) -> String {
      "fa1" + Hexadecimal.text(number << 16 | follower, digits: 61)
    }
  }

  private func measure(
    _ run: Int, _ latencyMilliseconds: Int, _ stack: LocalStack
  ) async throws(LocalRunError) -> Times {
    let alone = try await emit(try await seed(2 * run, stack), stack)
    for probe in alone { _ = try await stack.settled(probe.event) }
    let others = try await seed(2 * run + 1, stack)
    let giant = GoLiveEvent(id: "\(Self.giant)-\(run)", streamer: Self.giant)
    _ = try await stack.emit(giant)
    while (try await stack.status(of: giant.id)?.accepted ?? 0) == 0 {
      try processes.checkpoint()
      await processes.loop.wait(.milliseconds(20))
    }
    let beside = try await emit(others, stack)
    for probe in beside { _ = try await stack.settled(probe.event) }
    guard try await stack.status(of: giant.id)?.state == .running else {
      throw LocalRunError(.failed, "the giant was done before what was measured beside it")
    }
    _ = try await stack.settled(giant)
    let ledger = try await stack.simulator.ledger()
    let aloneTimes = try Self.times(alone, ledger, latencyMilliseconds)
    let besideTimes = try Self.times(beside, ledger, latencyMilliseconds)
    guard let smallAlone = Measurements(aloneTimes.dropLast()),
      let small = Measurements(besideTimes.dropLast())
    else { throw LocalRunError(.failed, "no event was measured") }
    return Times(
      smallAlone: smallAlone, mediumAlone: aloneTimes[aloneTimes.count - 1], small: small,
      medium: besideTimes[besideTimes.count - 1])
  }

  private func seed(_ half: Int, _ stack: LocalStack) async throws(LocalRunError) -> [Probe] {
    var probes: [Probe] = []
    for index in 0...options.events {
      let probe = Probe(
        number: half << 12 | index,
        followers: index == options.events ? Self.mediumFollowers : Self.smallFollowers)
      try await stack.seed(streamer: probe.event.streamer, followers: probe.followers) {
        AudienceRow(user: "fair-\(probe.number)-\($0)", token: probe.token($0))
      }
      probes.append(probe)
    }
    return probes
  }

  private func emit(_ probes: [Probe], _ stack: LocalStack) async throws(LocalRunError) -> [Probe] {
    var probes = probes
    for index in probes.indices {
      // An even spread of pauses, so that no event keeps step with anybody's timer.
      await processes.loop.wait(Self.pause + .milliseconds(index * 37 % 20))
      probes[index].emittedAt = try await stack.emit(probes[index].event)
    }
    return probes
  }

  /// Milliseconds from the append until the last push was answered, of each.
  private static func times(
    _ probes: [Probe], _ ledger: Ledger, _ latencyMilliseconds: Int
  ) throws(LocalRunError) -> [Double] {
    var times: [Double] = []
    for probe in probes {
      var last: Int64 = 0
      for follower in 0..<probe.followers {
        guard let token = TokenKey(probe.token(follower)), let entry = ledger[token] else {
          throw LocalRunError(.failed, "a push of \(probe.event.id) never arrived")
        }
        last = max(last, entry.firstArrival)
      }
      times.append(Double(last - probe.emittedAt) / 1_000 + Double(latencyMilliseconds))
    }
    return times
  }
}
