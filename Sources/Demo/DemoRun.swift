import Devices
import EventLoop
import Keyspace
import LocalStack
import Processes
import Record
import Redis
import ServerProcesses
import Telemetry
import Terminal

/// The steps of the demo. Confined to the loop of its processes.
package final class DemoRun {
  package struct Options: Sendable {
    let followers: Int
    /// At least one; the shares of their devices are 1 together.
    let platforms: [DemoPlatform]
    let lanes: Int
    let templates: String
    /// Where the steps are told.
    let talk: Console

    package init(
      followers: Int, platforms: [DemoPlatform], lanes: Int, templates: String, talk: Console
    ) {
      self.followers = followers
      self.platforms = platforms
      self.lanes = lanes
      self.templates = templates
      self.talk = talk
    }
  }

  private static let streamer = "s42"
  private let options: Options
  private let processes: ChildProcesses
  private let audience: SyntheticAudience

  package init(_ options: Options, _ processes: ChildProcesses) {
    self.options = options
    self.processes = processes
    audience = SyntheticAudience(
      followers: options.followers, seed: 20_261_121, topic: LocalStack.app,
      devices: options.platforms.map(\.devices),
      boundAt: WallClock.nowMilliseconds() - 86_400_000)
  }

  /// - Parameter whenDone: called before everything is stopped.
  package func run(
    whenDone: (LocalStack, GoLiveEvent) async throws(LocalRunError) -> Void
  ) async throws(LocalRunError) -> DemoReport {
    let talk = options.talk
    talk.line(
      talk.styled("Fanfare demo", .bold)
        + ": \(Figures.grouped(options.followers)) followers, everything on this machine")
    let stack = try await LocalStack.start(
      processes, templates: options.templates, lanes: options.lanes,
      platforms: options.platforms.map(\.local))
    defer { stack.close() }
    tell("redis-server", "\(stack.redisOptions.endpoint)")
    tell("Kafka broker", "\(stack.bootstrapServers)  (embedded)")
    for (platform, simulator) in zip(options.platforms, stack.simulators) {
      tell(platform.title, "\(simulator.endpoint)  (simulator)")
    }
    try await seed(stack)
    try await stack.startWorker()
    let fanOut = try await send(stack)
    let totals = audience.totals()
    let results = try await results(totals, stack)
    let report = DemoReport(
      fanOut: fanOut, totals: totals, platforms: results,
      comparison: try await comparison(fanOut, totals, results, stack))
    try await stack.stopWorker()
    try await whenDone(stack, fanOut.event)
    return report
  }

  private func tell(_ name: String, _ text: String) {
    options.talk.line("  \(TextLayout.padded(name, to: 14))\(text)")
  }

  // MARK: steps

  private func seed(_ stack: LocalStack) async throws(LocalRunError) {
    var line = ProgressLine(
      "  Seeding ", total: options.followers, on: options.talk, at: processes.loop.now)
    try await stack.seed(
      streamer: Self.streamer, followers: options.followers,
      progress: { line.update(done: $0, at: processes.loop.clock) },
      row: audience.row)
    line.finish(note: "followers", at: processes.loop.clock)
  }

  private func send(_ stack: LocalStack) async throws(LocalRunError) -> MeasuredFanOut {
    let event = GoLiveEvent(id: "demo-\(WallClock.nowMilliseconds())", streamer: Self.streamer)
    tell("event", "\(event.id): Aiko is live with \"Speedrun night\"")
    let devices = audience.totals().devices
    var line = ProgressLine("  Pushing ", total: devices, on: options.talk, at: processes.loop.now)
    let fanOut = try await MeasuredFanOut.run(event, on: stack) { status in
      line.update(done: status.outcomes, at: processes.loop.clock)
    }
    line.finish(note: "devices", at: processes.loop.clock)
    return fanOut
  }

  private func results(
    _ totals: SyntheticAudience.Totals, _ stack: LocalStack
  ) async throws(LocalRunError) -> [PlatformResult] {
    var results: [PlatformResult] = []
    for (kind, audit) in try await audits(stack).enumerated() {
      let platform = options.platforms[kind]
      var ledger = try await stack.simulators[kind].totals()
      ledger.refusals = platform.named(ledger.refusals)
      results.append(
        PlatformResult(
          platform: platform, devices: totals.devicesByKind[kind], audit: audit, ledger: ledger))
    }
    return results
  }

  /// Everybody who ought to be reached, held against the ledgers of the simulators.
  private func audits(_ stack: LocalStack) async throws(LocalRunError) -> [DeliveryAudit] {
    var audits: [DeliveryAudit] = []
    for simulator in stack.simulators {
      audits.append(DeliveryAudit(ledger: try await simulator.ledger()))
    }
    for index in 0..<audience.followers {
      let person = audience.person(index)
      for device in 0..<person.deviceCount {
        let isDead = audience.isDead(index, device: device)
        audits[audience.kind(index, device: device)].expect(
          TokenKey(of: audience.token(index, device: device)),
          person.isMuted ? .muted : isDead ? .dead : .living)
      }
      if index % 10_000 == 0 { try processes.checkpoint() }
    }
    return audits
  }

  private func comparison(
    _ fanOut: MeasuredFanOut, _ totals: SyntheticAudience.Totals, _ results: [PlatformResult],
    _ stack: LocalStack
  ) async throws(LocalRunError) -> CounterComparison {
    CounterComparison(
      FanOutCounters(fanOut.status), ledger: results.map(\.ledger).reduce(LedgerTotals(), +),
      retriedReasons: options.platforms.reduce(into: []) { $0.formUnion($1.retriedReasons) },
      expected: ExpectedCounters(
        followers: totals.followers, devices: totals.devices, mutedDevices: totals.mutedDevices,
        deadBindingsGone: try await deadBindingsGone(stack)))
  }

  /// Asks Redis for the binding of every dead device that was addressed.
  private func deadBindingsGone(_ stack: LocalStack) async throws(LocalRunError) -> Int {
    var gone = 0
    let page = RedisPipeline()
    for index in 0..<audience.followers {
      let person = audience.person(index)
      if !person.isMuted {
        let bindings = audience.row(index).bindings
        for device in bindings.indices where audience.isDead(index, device: device) {
          page.append(
            "SISMEMBER", stack.keyspace.bindings(user: audience.user(index)),
            bindings[device].member)
        }
      }
      if page.count >= 1_000 || index == audience.followers - 1 {
        let replies = try await stack.send(page)
        gone += (0..<page.count).count { replies[$0].integer == 0 }
        page.removeAll()
        try processes.checkpoint()
      }
    }
    return gone
  }
}
