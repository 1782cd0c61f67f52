import APNsSimulator
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

/// The counters that a fan-out must have by its audience.
package struct ExpectedCounters: Sendable, Equatable {
  package var followers: Int
  package var devices: Int
  package var mutedDevices: Int
  /// Dead bindings that are gone from Redis.
  package var deadBindingsGone: Int

  package init(followers: Int, devices: Int, mutedDevices: Int, deadBindingsGone: Int) {
    self.followers = followers
    self.devices = devices
    self.mutedDevices = mutedDevices
    self.deadBindingsGone = deadBindingsGone
  }
}

/// The demo's result, for people and for scripts.
package struct DemoReport {
  package let fanOut: MeasuredFanOut
  package let totals: SyntheticAudience.Totals
  package let audit: DeliveryAudit
  let comparison: CounterComparison
  package let ledger: LedgerTotals

  private var status: FanOutStatus { fanOut.status }

  package var lost: Int {
    audit.lost(outcomesWithoutSending: FanOutCounters(status).outcomesWithoutSending)
  }

  /// Devices reached that ought not to be: muted, dead or unknown.
  package var wrongly: Int { audit.wrongly + audit.strangers }

  /// Nothing lost, nobody disturbed, and every number seen by two.
  package var isGood: Bool {
    lost == 0 && wrongly == 0 && fanOut.deadLetters == 0 && comparison.matches
  }

  /// From the append to the first request that reached the push service; nil when none did.
  var firstPushMilliseconds: Double? {
    ledger.firstArrival > 0 ? Double(ledger.firstArrival - fanOut.emittedAt) / 1_000 : nil
  }

  package var pushesPerSecond: Double {
    fanOut.elapsedMilliseconds > 0
      ? Double(fanOut.sentPushes) * 1_000 / fanOut.elapsedMilliseconds : .nan
  }

  private var rejectedTotal: Int { status.rejected.values.reduce(0, +) }

  private var peakMegabytes: Double { Double(fanOut.workerPeakBytes) / 1_048_576 }

  package var json: JSONOutput {
    func object(_ counts: [String: Int]) -> JSONOutput {
      var object = JSONObject()
      for (name, count) in counts.sorted(by: { $0.key < $1.key }) { object[name] = .integer(count) }
      return .object(object)
    }
    return [
      "event": .text(fanOut.event.id), "recipients": .integer(status.recipients),
      "devices": .integer(totals.devices), "pushes": .integer(status.pushes),
      "accepted": .integer(status.accepted), "rejected": object(status.rejected),
      "rejected_total": .integer(rejectedTotal),
      "expired": .integer(status.expired), "cancelled": .integer(status.cancelled),
      "suppressed": .integer(status.suppressed),
      "suppressed_by": object(status.suppressedByRule), "retried": .integer(status.retried),
      "stragglers": .integer(status.stragglers), "waiting": .integer(status.waiting),
      "skipped": .integer(status.skipped),
      "dead_letters": .integer(fanOut.deadLetters), "pruned": .integer(status.pruned),
      "lost": .integer(lost), "duplicated": .integer(audit.duplicated),
      "wrongly_reached": .integer(wrongly),
      "counters_match_ledger": .bool(comparison.matches),
      "first_push_ms": firstPushMilliseconds.map { .number($0) } ?? .null,
      "elapsed_ms": .number(fanOut.elapsedMilliseconds),
      "pushes_per_second": .number(pushesPerSecond, digits: 0),
      "worker_cpu_us_per_push": .number(fanOut.cpuMicrosecondsPerPush),
      "worker_peak_rss_mb": .number(peakMegabytes, digits: 1),
    ]
  }

  // MARK: for people

  package func write(to console: Console) {
    var summary = Summary()
    addOutcomes(to: &summary)
    addProof(to: &summary)
    addSpeed(to: &summary)
    console.line()
    summary.write(to: console)
    console.line()
    console.line(
      isGood
        ? console.styled("Every device has its outcome, once, and every counter agrees.", .green)
        : console.styled("Something is wrong: see the numbers marked above.", .red))
  }

  private func addOutcomes(to summary: inout Summary) {
    summary.section("Outcomes, as Redis counted them")
    summary.add("recipients", status.recipients)
    summary.add("pushes", status.pushes, note: "one for each of their devices")
    summary.add("accepted", status.accepted, indent: 1)
    summary.add("rejected", rejectedTotal, indent: 1)
    for (reason, count) in status.rejected.sorted(by: { $0.key < $1.key }) {
      let note = reason == "Unregistered" ? "the app is gone from the device" : ""
      summary.add(reason, count, note: note, indent: 2)
    }
    if status.expired > 0 { summary.add("expired", status.expired, indent: 1) }
    if status.cancelled > 0 { summary.add("cancelled", status.cancelled, indent: 1) }
    summary.add("suppressed", status.suppressed, indent: 1)
    for (rule, count) in status.suppressedByRule.sorted(by: { $0.key < $1.key }) {
      let note = rule == "muted" ? "their owners muted everything" : ""
      summary.add(rule, count, note: note, indent: 2)
    }
    if status.retried > 0 { summary.add("retried", status.retried, note: "sends beyond the first") }
    if status.stragglers > 0 {
      summary.add(
        "stragglers", status.stragglers, note: "segments of pushes that waited for another try")
    }
    if status.skipped > 0 { summary.add("skipped", status.skipped, note: "not as they should be") }
    if fanOut.deadLetters > 0 { summary.add("dead letters", fanOut.deadLetters, mark: .bad) }
    summary.add("pruned", status.pruned, note: "dead bindings taken out of Redis")
  }

  private func addProof(to summary: inout Summary) {
    summary.section("Held against the push service's ledger and the audience")
    summary.add("lost", lost, mark: lost == 0 ? .good : .bad)
    summary.add("duplicated", audit.duplicated, mark: audit.duplicated == 0 ? .good : .none)
    summary.add(
      "reached wrongly", wrongly, note: "muted, dead or unknown devices",
      mark: wrongly == 0 ? .good : .bad)
    summary.add(
      "counters agree", comparison.matches ? "yes" : "no",
      note: "\(comparison.rows.count) numbers, each seen by two",
      mark: comparison.matches ? .good : .bad)
    for row in comparison.differences {
      let seen = row.witnessed
      let range =
        seen.count == 1
        ? Figures.grouped(seen.lowerBound)
        : "\(Figures.grouped(seen.lowerBound)) to \(Figures.grouped(seen.upperBound))"
      summary.add(
        row.name, row.counted, note: "the \(row.witness.rawValue) says \(range)", mark: .bad,
        indent: 1)
    }
  }

  private func addSpeed(to summary: inout Summary) {
    summary.section("Speed")
    summary.add(
      "first push", firstPushMilliseconds.map { Figures.time(nanoseconds: $0 * 1e6) } ?? "-",
      note: "after the event was appended")
    summary.add(
      "all settled", Figures.time(nanoseconds: fanOut.elapsedMilliseconds * 1e6),
      note: "and recorded")
    summary.add(
      "rate", Figures.grouped(Int(pushesPerSecond.isFinite ? pushesPerSecond : 0)),
      note: "pushes a second")
    summary.add(
      "worker CPU", Figures.time(nanoseconds: fanOut.cpuMicrosecondsPerPush * 1e3),
      note: "a push")
    summary.add("worker memory", Figures.bytes(fanOut.workerPeakBytes), note: "at its peak")
  }
}

/// Redis's counters beside what others saw, number by number.
package struct CounterComparison: Sendable {
  package enum Witness: String, Sendable { case ledger, audience, redis }

  package struct Row: Sendable, Equatable {
    package let name: String
    package let counted: Int
    package let witness: Witness
    let witnessed: ClosedRange<Int>

    package var matches: Bool { witnessed.contains(counted) }
  }

  package private(set) var rows: [Row] = []

  /// Answers after which the worker tries again: the ledger counts every try, Redis the outcome.
  package static let retriedReasons: Set<String> = [
    "TooManyRequests", "TooManyProviderTokenUpdates", "ExpiredProviderToken",
    "InvalidProviderToken", "MissingProviderToken", "InternalServerError", "ServiceUnavailable",
    "Shutdown", "IdleTimeout",
  ]

  package init(_ redis: FanOutCounters, ledger: LedgerTotals, expected: ExpectedCounters) {
    add("recipients", redis.recipients, .audience, expected.followers)
    add("pushes", redis.pushes, .audience, expected.devices)
    add("suppressed", redis.suppressed, .audience, expected.mutedDevices)
    // Mutes are all that an audience of ours asks for.
    add("muted", redis.suppressedByRule["muted"] ?? 0, .audience, expected.mutedDevices)
    add("outcomes", redis.outcomes, .redis, redis.pushes)
    add("accepted", redis.accepted, .ledger, ledger.accepted)
    let reasons = Set(redis.rejected.keys).union(ledger.refusals.keys)
    for reason in reasons.subtracting(FanOutCounters.ownReasons).sorted() {
      let seen = ledger.refusals[reason] ?? 0
      let least = Self.retriedReasons.contains(reason) ? 0 : seen
      add("rejected \(reason)", redis.rejected[reason] ?? 0, .ledger, least...seen)
    }
    // A push that was tried and then expired left its token in the ledger too.
    let asked = redis.pushes - redis.suppressed - redis.outcomesWithoutSending
    let unsure = redis.expired + redis.cancelled
    add("tokens", asked, .ledger, max(0, ledger.tokens - unsure)...ledger.tokens)
    add("pruned", redis.pruned, .redis, expected.deadBindingsGone)
  }

  package var matches: Bool { rows.allSatisfy(\.matches) }
  package var differences: [Row] { rows.filter { !$0.matches } }

  private mutating func add(_ name: String, _ counted: Int, _ witness: Witness, _ seen: Int) {
    add(name, counted, witness, seen...seen)
  }

  private mutating func add(
    _ name: String, _ counted: Int, _ witness: Witness, _ seen: ClosedRange<Int>
  ) {
    rows.append(Row(name: name, counted: counted, witness: witness, witnessed: seen))
  }
}
