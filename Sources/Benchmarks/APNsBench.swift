import APNsSimulator
import Devices
import EventLoop
import LocalStack
import Processes
import ServerProcesses
import Terminal

/// Measures how much of the rate remains while Apple is in trouble, or is sent dead tokens: one
/// worker of one lane, an Apple that is 60 ms away and takes so many streams that answers are
/// waited for, and not a core. The rate is that of good devices, from the first request until all
/// but one in a hundred of them were accepted: what the last few wait for are their back-offs.
/// Where a part of all is put off these are many: the middle of a longer event says what goes in a
/// second.
struct APNsBench: Bench {
  package static let leastAfterGoAways = 0.5
  /// Of five requests three are accepted: where requests are the bound that is all there can be.
  package static let leastOfGoodput = 0.6
  package static let leastBesideDead = 0.9
  /// Always: it is not their number that is compared.
  private static let connections = 2
  private static let latencyMilliseconds = 60
  /// A connection; with two of them a worker sends some 10,000 a second.
  private static let streams = 300
  private static let shippedStreams = 1000
  /// One follower in so many has a dead token.
  private static let oneDeadIn = 20
  private static let mostSeconds: UInt64 = 120
  private static let pause = Duration.milliseconds(50)

  /// Apple's behaviour in one measurement, and what it does with dead tokens.
  private enum Trial: Int, CaseIterable {
    /// With as many streams and connections as an installation has that sets neither.
    case asShipped, asShippedGoAway
    case undisturbed
    /// After every 100 requests of a connection, a few of them above its last stream.
    case goAway
    /// So many followers that the first second and the last few, in which back-offs are waited for,
    /// say little.
    case long
    /// The same with 30 % TooManyRequests, 10 % ServiceUnavailable.
    case refusals
    case unregistered, badTokens
    /// Bad tokens halve a connection's streams, and then end it.
    case cut
    /// The same with an audience of which the good ones were accepted a moment ago.
    case cutAgain

    var deadPrefix: String? {
      switch self {
      case .asShipped, .asShippedGoAway, .undisturbed, .goAway, .long, .refusals: nil
      case .unregistered: MagicTokens.prefix + "0410"
      case .badTokens, .cut, .cutAgain: MagicTokens.prefix + "0400"
      }
    }

    var followers: Int {
      switch self {
      case .long, .refusals: 240_000
      case .asShipped, .asShippedGoAway: 120_000
      default: 60_000
      }
    }

    /// The trial whose good devices this one sends to.
    var audience: Int { self == .cutAgain ? Trial.cut.rawValue : rawValue }

    var script: JSONOutput {
      let latency: JSONOutput = .integer(APNsBench.latencyMilliseconds)
      return switch self {
      case .asShipped, .undisturbed, .long, .unregistered, .badTokens: ["latency_ms": latency]
      case .asShippedGoAway, .goAway:
        ["latency_ms": latency, "goaway_after": 100, "goaway_behind": 5]
      case .refusals:
        [
          "latency_ms": latency,
          "mix": ["429": .number(0.3, digits: 1), "503": .number(0.1, digits: 1)],
        ]
      case .cut, .cutAgain: ["latency_ms": latency, "cut_after": 40, "end_after": 1_000]
      }
    }
  }

  /// Devices accepted a second.
  private struct Pace {
    /// From the first request until all but one in a hundred of the good ones were.
    var whole = 0.0
    /// Between the first and the last twentieth.
    var middle = 0.0
    /// Connections that the worker had.
    var connections = 0
  }

  /// The result of one event.
  private struct Outcome {
    var pace: Pace
    /// Good devices that were never accepted, and those that were more than once.
    var lost: Int
    var doubled: Int
  }

  let processes: ChildProcesses
  let options: BenchOptions

  func run() async throws(LocalRunError) -> [BenchResult] {
    let shipped: [Trial] = [.asShipped, .asShippedGoAway]
    var outcomes = try await outcomes(of: shipped, connections: nil, streams: Self.shippedStreams)
    let bounded = try await self.outcomes(
      of: Trial.allCases.filter { !shipped.contains($0) }, connections: Self.connections,
      streams: Self.streams)
    outcomes.merge(bounded) { $1 }
    return try results(outcomes)
  }

  /// - Parameter connections: nil: as many as the worker has by itself.
  private func outcomes(
    of trials: [Trial], connections: Int?, streams: Int
  ) async throws(LocalRunError) -> [Trial: [Outcome]] {
    var outcomes: [Trial: [Outcome]] = [:]
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: 1,
      platforms: [
        .apns(
          [
            "--latency", "\(Self.latencyMilliseconds)ms", "--first-streams", "\(streams)",
            "--streams", "\(streams)",
          ], connections: connections)
      ])
    defer { stack.close() }
    for run in 1...options.runs {
      // A worker keeps for an hour what it has learnt of tokens and of Apple.
      try await stack.stopWorker()
      try await stack.startWorker()
      for trial in trials {
        let outcome = try await measure(trial, run, stack)
        outcomes[trial, default: []].append(outcome)
        options.note(
          "apns", run,
          "\(trial): \(Figures.grouped(Int(outcome.pace.whole))) a second, in the middle "
            + "\(Figures.grouped(Int(outcome.pace.middle))), \(outcome.lost) lost, "
            + "\(outcome.doubled) doubled, \(outcome.pace.connections) connections")
      }
    }
    return outcomes
  }

  private func results(_ outcomes: [Trial: [Outcome]]) throws(LocalRunError) -> [BenchResult] {
    func ratios(
      _ trial: Trial, to other: Trial = .undisturbed, _ pace: KeyPath<Pace, Double> = \.whole
    ) -> [Double] {
      zip(outcomes[trial] ?? [], outcomes[other] ?? []).map {
        $0.pace[keyPath: pace] / $1.pace[keyPath: pace]
      }
    }
    func counts(_ trial: Trial, _ count: KeyPath<Outcome, Int>) -> [Double] {
      (outcomes[trial] ?? []).map { Double($0[keyPath: count]) }
    }
    return [
      try BenchResult(
        "apns_rate", "60,000 followers, 60 ms latency, 300 streams a connection",
        (outcomes[.undisturbed] ?? []).map(\.pace.whole),
        unit: " /s", digits: 0),
      try BenchResult.ratio(
        "apns_goaway_ratio", "the same with GOAWAY after every 100 requests ÷ without",
        ratios(.goAway), least: Self.leastAfterGoAways),
      try BenchResult(
        "apns_shipped_rate", "120,000 followers, 60 ms latency, default settings",
        (outcomes[.asShipped] ?? []).map(\.pace.whole), unit: " /s", digits: 0),
      try BenchResult.ratio(
        "apns_shipped_goaway_ratio", "the same with GOAWAY after every 100 requests ÷ without",
        ratios(.asShippedGoAway, to: .asShipped),
        least: Self.leastAfterGoAways),
      try BenchResult(
        "apns_goaway_lost", "of both, never accepted",
        counts(.goAway, \.lost) + counts(.asShippedGoAway, \.lost), unit: "", digits: 0, limit: 0),
      try BenchResult(
        "apns_goaway_doubled", "accepted more than once",
        counts(.goAway, \.doubled) + counts(.asShippedGoAway, \.doubled), unit: "", digits: 0,
        limit: 0),
      try BenchResult.ratio(
        "apns_refusals_ratio",
        "240,000 followers, 30 % 429 and 10 % 503 ÷ without, first and last twentieth left out",
        ratios(.refusals, to: .long, \.middle), least: Self.leastOfGoodput),
      try BenchResult.ratio(
        "apns_refusals_whole_ratio", "the same from the first to all but one in a hundred",
        ratios(.refusals, to: .long)),
      try BenchResult(
        "apns_refusals_lost", "of them, never accepted", counts(.refusals, \.lost), unit: "",
        digits: 0, limit: 0),
      try BenchResult.ratio(
        "apns_unregistered_ratio", "good tokens beside 5 % that get 410 ÷ without",
        ratios(.unregistered), least: Self.leastBesideDead),
      try BenchResult.ratio(
        "apns_bad_tokens_ratio", "beside 5 % that get BadDeviceToken", ratios(.badTokens),
        least: Self.leastBesideDead),
      try BenchResult.ratio(
        "apns_cut_ratio", "the same, and they cost their connection its streams", ratios(.cut),
        least: Self.leastBesideDead),
      try BenchResult.ratio(
        "apns_cut_again_ratio", "the same good tokens beside others", ratios(.cutAgain),
        least: Self.leastBesideDead),
    ]
  }

  // MARK: one event

  private func measure(
    _ trial: Trial, _ run: Int, _ stack: LocalStack
  ) async throws(LocalRunError) -> Outcome {
    let audience = "bench-apns-\(trial.audience)-\(run)"
    let event = GoLiveEvent(id: "bench-apns-\(trial)-\(run)", streamer: audience)
    try await stack.seed(streamer: event.streamer, followers: trial.followers) {
      AudienceRow(user: "\(audience)-\($0)", token: token($0, trial, run))
    }
    let simulator = stack.simulator
    try await simulator.reset()
    try await simulator.set(script: trial.script)
    _ = try await stack.emit(event)
    let good = (0..<trial.followers).count { !isDead($0, trial) }
    let pace = try await pace(of: good, stack)
    // The simulator now accepts the pushes that are left.
    try await simulator.set(script: Trial.undisturbed.script)
    _ = try await stack.settled(event)
    let ledger = try await simulator.ledger()
    var lost = 0
    for index in 0..<trial.followers where !isDead(index, trial) {
      let entry = TokenKey(token(index, trial, run)).flatMap { ledger[$0] }
      if (entry?.accepted ?? 0) == 0 { lost += 1 }
    }
    return Outcome(pace: pace, lost: lost, doubled: ledger.duplicates)
  }

  /// Until nearly all good devices were accepted, or nobody waits any longer.
  private func pace(of good: Int, _ stack: LocalStack) async throws(LocalRunError) -> Pace {
    // The script came with one too.
    var asked = 1
    var middle: (first: LedgerTotals, last: LedgerTotals)?
    let giveUpAt = processes.loop.now &+ Self.mostSeconds * 1_000_000_000
    while true {
      try processes.checkpoint()
      let totals = try await stack.simulator.totals()
      asked += 1
      if totals.accepted >= good / 20, totals.accepted <= good - good / 20 {
        middle = (middle?.first ?? totals, totals)
      }
      if totals.accepted >= good - good / 100 || processes.loop.now >= giveUpAt {
        return Pace(
          whole: Self.rate(totals.accepted, totals.firstArrival, totals.lastArrival),
          middle: middle.map {
            Self.rate($1.accepted - $0.accepted, $0.lastArrival, $1.lastArrival)
          } ?? 0,
          connections: totals.connections - asked)
      }
      await processes.loop.wait(Self.pause)
    }
  }

  /// A second, between two times in microseconds.
  private static func rate(_ accepted: Int, _ first: Int64, _ last: Int64) -> Double {
    Double(accepted) * 1_000_000 / Double(max(1, last - first))
  }

  private func isDead(_ index: Int, _ trial: Trial) -> Bool {
    trial.deadPrefix != nil && index % Self.oneDeadIn == 0
  }

  private func token(_ index: Int, _ trial: Trial, _ run: Int) -> String {
    let isDead = isDead(index, trial)
    let start = isDead ? trial.deadPrefix ?? "" : "beef"
    let kind = isDead ? trial.rawValue : trial.audience
    let digits = String((kind + 1) << 48 | run << 24 | index, radix: 16)
    return start + String(repeating: "0", count: 64 - start.count - digits.count) + digits
  }
}
