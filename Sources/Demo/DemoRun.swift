import APNsSimulator
import Devices
import EventLoop
import Keyspace
import LocalStack
import Processes
import Redis
import ServerProcesses
import Telemetry
import Terminal

/// The steps of the demo. Confined to the loop of its processes.
package final class DemoRun {
  package struct Options: Sendable {
    let followers: Int
    let lanes: Int
    let templates: String
    /// Where the steps are told.
    let talk: Console

    package init(followers: Int, lanes: Int, templates: String, talk: Console) {
      self.followers = followers
      self.lanes = lanes
      self.templates = templates
      self.talk = talk
    }
  }

  private static let streamer = "s42"
  /// The simulator says of these tokens that they are gone since now, on every try.
  private static let deadTokenPrefix = MagicTokens.prefix + "0410"

  private let options: Options
  private let processes: ChildProcesses
  private let audience: SyntheticAudience

  package init(_ options: Options, _ processes: ChildProcesses) {
    self.options = options
    self.processes = processes
    audience = SyntheticAudience(
      followers: options.followers, seed: 20_261_121, topic: LocalStack.app,
      deadTokenPrefix: Self.deadTokenPrefix,
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
      simulatorOptions: ["--topic", LocalStack.app])
    defer { stack.close() }
    tell("redis-server", "\(stack.redisOptions.endpoint)")
    tell("Kafka broker", "\(stack.bootstrapServers)  (embedded)")
    tell("push service", "\(stack.simulator.endpoint)  (simulator)")
    try await seed(stack)
    try await stack.startWorker()
    let fanOut = try await send(stack)
    let report = DemoReport(
      fanOut: fanOut, totals: audience.totals(), audit: try await audit(stack),
      comparison: try await comparison(fanOut, stack),
      ledger: try await stack.simulator.totals())
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
    let event = GoLiveEvent(
      id: "demo-\(WallClock.nowMilliseconds())", streamer: Self.streamer)
    tell("event", "\(event.id): Aiko is live with \"Speedrun night\"")
    let devices = audience.totals().devices
    var line = ProgressLine(
      "  Pushing ", total: devices, on: options.talk, at: processes.loop.now)
    let fanOut = try await MeasuredFanOut.run(event, on: stack) { status in
      line.update(done: status.outcomes, at: processes.loop.clock)
    }
    line.finish(note: "devices", at: processes.loop.clock)
    return fanOut
  }

  /// Everybody who ought to be reached, held against the simulator's ledger.
  private func audit(_ stack: LocalStack) async throws(LocalRunError) -> DeliveryAudit {
    var audit = DeliveryAudit(ledger: try await stack.simulator.ledger())
    for index in 0..<audience.followers {
      let person = audience.person(index)
      for device in 0..<person.deviceCount {
        let token = audience.token(index, device: device)
        guard let key = TokenKey(token) else {
          throw LocalRunError(.failed, "the synthetic audience made a token of a wrong size")
        }
        let isDead = audience.isDead(index, device: device)
        audit.expect(key, person.isMuted ? .muted : isDead ? .dead : .living)
      }
      if index % 10_000 == 0 { try processes.checkpoint() }
    }
    return audit
  }

  private func comparison(
    _ fanOut: MeasuredFanOut, _ stack: LocalStack
  ) async throws(LocalRunError) -> CounterComparison {
    let totals = audience.totals()
    return CounterComparison(
      FanOutCounters(fanOut.status), ledger: try await stack.simulator.totals(),
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
        for device in 0..<person.deviceCount where audience.isDead(index, device: device) {
          let member =
            "apns:\(audience.environment.name):\(audience.topic):"
            + audience.token(index, device: device)
          page.append("SISMEMBER", stack.keyspace.bindings(user: audience.user(index)), member)
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
