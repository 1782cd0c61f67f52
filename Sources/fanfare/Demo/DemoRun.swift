import APNsSimulator
import Devices
import Evaluation
import EventLoop
import Keyspace
import Redis
import Telemetry
import Terminal

/// The steps of the demo. Confined to its household's loop.
final class DemoRun {
  struct Options: Sendable {
    let followers: Int
    let lanes: Int
    let templates: String
    let keeps: Bool
    let asJSON: Bool
    /// Where the steps are told.
    let talk: Console
    /// Where the result goes.
    let output: Console
  }

  private static let streamer = "s42"
  /// The simulator says of these tokens that they are gone since now, on every try.
  private static let deadTokenPrefix = MagicTokens.prefix + "0410"

  private let options: Options
  private let household: Household
  private let audience: SyntheticAudience

  init(_ options: Options, _ household: Household) {
    self.options = options
    self.household = household
    audience = SyntheticAudience(
      followers: options.followers, seed: 20_261_121, topic: Ensemble.app,
      deadTokenPrefix: Self.deadTokenPrefix,
      boundAt: WallClock.nowMilliseconds() - 86_400_000)
  }

  func run() async throws(CommandFailure) -> ExitCode {
    let talk = options.talk
    talk.line(
      talk.styled("Fanfare demo", .bold)
        + ": \(Figures.grouped(options.followers)) followers, everything on this machine")
    let ensemble = try await Ensemble.start(
      household, templates: options.templates, lanes: options.lanes,
      simulatorOptions: ["--topic", Ensemble.app])
    defer { ensemble.close() }
    tell("redis-server", "127.0.0.1:\(ensemble.redisPort)")
    tell("Kafka broker", "\(ensemble.bootstrapServers)  (embedded)")
    tell("push service", "\(ensemble.simulator.endpoint)  (simulator)")
    try await seed(ensemble)
    try await ensemble.startWorker()
    let fanOut = try await send(ensemble)
    let report = DemoReport(
      fanOut: fanOut, totals: audience.totals(), audit: try await audit(ensemble),
      comparison: try await comparison(fanOut, ensemble),
      ledger: try await ensemble.simulator.totals())
    try await ensemble.stopWorker()
    if options.keeps {
      try await DemoLastWords.keep(fanOut.event, ensemble, on: options.talk)
    }
    if options.asJSON {
      options.output.line(report.json.serialized())
    } else {
      report.write(to: options.output)
      DemoLastWords.whatNext(templates: options.templates, on: options.output)
    }
    return report.isGood ? .ok : .failed
  }

  private func tell(_ name: String, _ text: String) {
    options.talk.line("  \(TextLayout.padded(name, to: 14))\(text)")
  }

  // MARK: steps

  private func seed(_ ensemble: Ensemble) async throws(CommandFailure) {
    var line = ProgressLine(
      "  Seeding ", total: options.followers, on: options.talk, at: household.loop.now)
    try await ensemble.seed(
      streamer: Self.streamer, followers: options.followers,
      progress: { line.update(done: $0, at: EventLoop.monotonicNanoseconds()) },
      row: audience.row)
    line.finish(note: "followers", at: EventLoop.monotonicNanoseconds())
  }

  private func send(_ ensemble: Ensemble) async throws(CommandFailure) -> FanOut {
    let event = DemoEvent(
      id: "demo-\(WallClock.nowMilliseconds())", streamer: Self.streamer)
    tell("event", "\(event.id): Aiko is live with \"Speedrun night\"")
    let devices = audience.totals().devices
    var line = ProgressLine(
      "  Pushing ", total: devices, on: options.talk, at: household.loop.now)
    let fanOut = try await FanOut.run(event, on: ensemble) { status in
      line.update(done: status.outcomes, at: EventLoop.monotonicNanoseconds())
    }
    line.finish(note: "devices", at: EventLoop.monotonicNanoseconds())
    return fanOut
  }

  /// Everybody who ought to be reached, held against the simulator's ledger.
  private func audit(_ ensemble: Ensemble) async throws(CommandFailure) -> DeliveryAudit {
    var audit = DeliveryAudit(ledger: try await ensemble.simulator.ledger())
    for index in 0..<audience.followers {
      let person = audience.person(index)
      for device in 0..<person.deviceCount {
        let token = audience.token(index, device: device)
        guard let key = TokenKey(token) else {
          throw CommandFailure(.failed, "the synthetic audience made a token of a wrong size")
        }
        let isDead = audience.isDead(index, device: device)
        audit.expect(key, person.isMuted ? .muted : isDead ? .dead : .living)
      }
      if index % 10_000 == 0 { try household.checkpoint() }
    }
    return audit
  }

  private func comparison(
    _ fanOut: FanOut, _ ensemble: Ensemble
  ) async throws(CommandFailure) -> CounterComparison {
    let totals = audience.totals()
    return CounterComparison(
      FanOutCounters(fanOut.status), ledger: try await ensemble.simulator.totals(),
      expected: ExpectedCounters(
        followers: totals.followers, devices: totals.devices, mutedDevices: totals.mutedDevices,
        deadBindingsGone: try await deadBindingsGone(ensemble)))
  }

  /// Asks Redis for the binding of every dead device that was addressed.
  private func deadBindingsGone(_ ensemble: Ensemble) async throws(CommandFailure) -> Int {
    var gone = 0
    let page = RedisPipeline()
    for index in 0..<audience.followers {
      let person = audience.person(index)
      if !person.isMuted {
        for device in 0..<person.deviceCount where audience.isDead(index, device: device) {
          let member =
            "apns:\(audience.environment.name):\(audience.topic):"
            + audience.token(index, device: device)
          page.append("SISMEMBER", ensemble.keyspace.bindings(user: audience.user(index)), member)
        }
      }
      if page.count >= 1_000 || index == audience.followers - 1 {
        let replies = try await ensemble.send(page)
        gone += (0..<page.count).count { replies[$0].integer == 0 }
        page.removeAll()
        try household.checkpoint()
      }
    }
    return gone
  }
}
