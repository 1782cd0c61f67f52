import APNsSimulator
import FCMSimulator
import Keyspace
import MemoryKafka
import MemoryRedis
import Telemetry
import Threads
import WebPushSimulator

/// One run of a scenario, in a world of its own.
final class ScenarioLife {
  let scenario: Scenario
  let world: World
  let script: SimulatorScript
  /// What a fail-over of Redis leaves.
  var image: StoreImage?
  private let ledger: ScenarioLedger
  private var began: UInt64 = 0
  /// Ms since 1970.
  private var beganAt: Int64 = 0
  private var appendedAt: [String: UInt64] = [:]
  private var mostBatchBytes = 0
  private var heard: [String: [String: Double]] = [:]
  private var measured: [String: [String: Double]] = [:]
  /// Workers that said that they cannot go on.
  private let failures = ThreadLock(0)
  private let reads = ThreadLock(0)

  /// How often it is looked whether all is settled.
  private static let look: Duration = .milliseconds(100)
  /// For what comes late: a second push, a record that is read again.
  private static let afterwards: Duration = .seconds(21)

  /// - Parameters:
  ///   - seed: what all chance of its world follows from.
  ///   - directory: the simulator's.
  ///   - print: gets each line of the trace.
  init(
    _ scenario: Scenario, seed: UInt64 = 1, directory: String, print: ((String) -> Void)? = nil
  ) throws {
    self.scenario = scenario
    world = try World(
      seed: seed, directory: directory, hasAllPlatforms: scenario.setUp.hasAllPlatforms)
    if let print {
      world.lines.print = { [unowned world] in print("\(world.time) \($0)") }
      world.broker.trace = { [lines = world.lines] in lines.add("kafka: \($0)") }
    }
    let ledger = ScenarioLedger(scenario.setUp.audiences)
    self.ledger = ledger
    var script = SimulatorScript()
    script.latency = scenario.setUp.latency
    script.streams = scenario.setUp.streams
    self.script = script
    let scheduler = world.scheduler
    world.whenPushed = { ledger.observe($0, at: scheduler.now) }
  }

  func run() throws -> ScenarioOutcome {
    try world.live { _ in
      defer { world.end() }
      for audience in scenario.setUp.audiences { write(audience) }
      countReads()
      replace(script)
      replaceOthers(fcm: { _ in }, webpush: { _ in })
      for number in 0..<scenario.setUp.workers { try start("worker-\(number + 1)") }
      world.run(atMost: .seconds(60)) { isGroupComplete }
      began = world.scheduler.now
      beganAt = world.wallClock()
      try followTimeline()
      let isSettled = waitUntilSettled()
      pass(Self.afterwards)
      for worker in world.workers { noteMemory(of: worker.name) { _ in } }
      return outcome(isSettled: isSettled)
    }
  }

  // MARK: what happens

  private enum Step {
    case emit(ScenarioEvent)
    case perform(ScenarioAction)

    var time: Duration {
      switch self {
      case .emit(let event): event.at
      case .perform(let action): action.at
      }
    }
  }

  private func followTimeline() throws {
    let steps = scenario.events.map(Step.emit) + scenario.actions.map(Step.perform)
    for step in steps.enumerated().sorted(by: {
      ($0.element.time, $0.offset) < ($1.element.time, $1.offset)
    }).map(\.element) {
      pass(until: began &+ UInt64(step.time / .nanoseconds(1)))
      switch step {
      case .emit(let event): append(event)
      case .perform(let action): try perform(action.what)
      }
    }
  }

  private func pass(_ time: Duration) {
    pass(until: world.scheduler.now &+ UInt64(time / .nanoseconds(1)))
  }

  private func pass(until end: UInt64) {
    let now = world.scheduler.now
    if end > now { world.run(atMost: .nanoseconds(Int64(end - now))) { false } }
  }

  private func waitUntilSettled() -> Bool {
    let end = began &+ UInt64(scenario.limit / .nanoseconds(1))
    while !scenario.events.allSatisfy({ ScenarioBooks(of: $0.id, world).isClosed }) {
      guard world.scheduler.now < end else { return false }
      pass(Self.look)
    }
    return true
  }

  /// As a backend does, but at once.
  private func append(_ event: ScenarioEvent) {
    let audience = scenario.setUp.audiences.first { $0.number == event.audience }
    guard let audience else { preconditionFailure("\(event.id) has no audience") }
    let document = world.document(
      event.id, app: audience.eventApp, streamer: audience.streamer, template: event.template,
      expiresIn: event.expiresIn, occurredAt: world.wallClock() - Int64(event.ago) * 1_000,
      more: event.more)
    appendedAt[event.id] = world.scheduler.now
    world.append(document, key: audience.streamer)
  }

  // MARK: workers

  func worker(_ name: String) -> WorldWorker? { world.workers.last { $0.name == name } }

  func start(_ name: String) throws {
    let setUp = scenario.setUp
    _ = try world.startWorker(name, lanes: setUp.lanes) {
      $0.deliver.connectionsPerRoute = setUp.connections
      $0.deliver.mostConnectionsPerRoute = setUp.mostConnections
      for setting in setUp.settings { setting.apply(to: &$0) }
      $0.whenFailed = { [failures] _ in failures.withLock { $0 += 1 } }
    }
  }

  private var isGroupComplete: Bool {
    let members = world.broker.members(of: "fanfare")
    return members.count == scenario.setUp.workers
      && members.allSatisfy { !$0.partitions.isEmpty }
  }

  /// What a worker has kept in memory is asked before its end.
  func noteMemory(of name: String, before body: (WorldWorker) -> Void) {
    guard let worker = worker(name) else { return }
    if let bytes = worker.mostBatchBytes() { mostBatchBytes = max(mostBatchBytes, bytes) }
    body(worker)
  }

  func note(_ look: String, _ name: String) {
    let heartbeat = world.hash(world.keyspace.worker(id: name))
    heard[look] = heartbeat.mapValues { Double($0) ?? Double($0.utf8.count) }
    heard["stats at \(look)"] = world.hash(world.keyspace.statsTotal)
      .compactMapValues { Double($0) }
    for event in scenario.events {
      heard["\(event.id) at \(look)"] = ScenarioBooks(of: event.id, world).numbers
        .mapValues { Double($0) }
    }
    guard let worker = worker(name) else { return }
    measured[look] = worker.metrics()
    measured[look]?[Self.readAhead] = Double(worker.host.readAhead)
  }

  /// Records that a worker has read and that are not committed.
  static let readAhead = "records read ahead"

  func replace(_ script: SimulatorScript) {
    world.perform { _, world in await world.simulator.replaceScript(script) }
  }

  /// Latency and streams stay as they are.
  func replaceOthers(
    fcm: ((inout FCMSimulatorScript) -> Void)? = nil,
    webpush: ((inout WebPushSimulatorScript) -> Void)? = nil
  ) {
    if let fcm, world.fcm != nil {
      var script = FCMSimulatorScript()
      (script.latency, script.streams) = (self.script.latency, self.script.streams)
      fcm(&script)
      let made = script
      world.perform { _, world in await world.fcm?.simulator.replaceScript(made) }
    }
    if let webpush, world.webpush != nil {
      var script = WebPushSimulatorScript()
      (script.latency, script.streams) = (self.script.latency, self.script.streams)
      webpush(&script)
      let made = script
      world.perform { _, world in await world.webpush?.simulator.replaceScript(made) }
    }
  }

  private func countReads() {
    world.redis.server.losesReply = { [reads] command, _ in
      if command.count > 1, command[1].text.hasPrefix("ffd:{f:"),
        ["smembers", "sscan"].contains(command[0].text.lowercased())
      {
        reads.withLock { $0 += 1 }
      }
      return false
    }
  }

  // MARK: figures

  private func seconds(from start: UInt64, to end: UInt64) -> Double {
    Double(end &- start) / 1e9
  }

  private func outcome(isSettled: Bool) -> ScenarioOutcome {
    var outcome = ScenarioOutcome()
    (outcome.heard, outcome.measured) = (heard, measured)
    outcome.statistics = world.hash(world.keyspace.statsTotal).compactMapValues { Int($0) }
    let doneAt = scenario.events.map { ScenarioBooks(of: $0.id, world)["done_ms"] }.max() ?? 0
    outcome.figures[.settled] =
      isSettled ? Double(Int64(doneAt) - beganAt) / 1_000 : .infinity
    outcome.figures[.inVain] = Double(ledger.inVain)
    outcome.figures[.doubled] = Double(ledger.doubled)
    let good = scenario.setUp.audiences.reduce(0) { $0 + $1.goodDevices }
    outcome.goodput = ledger.goodput(of: good)
    outcome.figures[.memory] =
      Double(mostBatchBytes) / Double(max(1, world.workers.first?.batchBudget ?? 0))
    var lost = 0
    var miscounted = 0
    for event in scenario.events {
      let audience = scenario.setUp.audiences.first { $0.number == event.audience }
      let books = ScenarioBooks(of: event.id, world)
      let (rejected, expired) = (books.rejected, books["expired"])
      outcome.figures[.rejected(event.id)] = Double(rejected)
      outcome.figures[.expired(event.id)] = Double(expired)
      outcome.figures[.cancelled(event.id)] = Double(books["cancelled"])
      let accepted = ledger.accepted(of: event.audience)
      miscounted += abs(books["accepted"] - accepted)
      lost += max(
        0, (audience?.devices ?? 0) - accepted - rejected - expired - books["cancelled"])
      /// Until the answer to the last push had come.
      func time(until last: UInt64) -> Double {
        guard last > 0 else { return .infinity }
        return seconds(from: appendedAt[event.id] ?? 0, to: last)
          + scenario.setUp.latency / .seconds(1)
      }
      for platform in WorldPlatform.allCases {
        outcome.figures[.lastPushOf(platform, event.id)] =
          time(until: ledger.lastAccepted(of: event.audience, by: platform))
      }
      outcome.figures[.lastPush(event.id)] = time(until: ledger.lastAccepted(of: event.audience))
      outcome.books[event.id] = books.numbers
      outcome.requestTimes[event.id] = ledger.requestTimes[event.audience].map {
        seconds(from: began, to: $0)
      }
    }
    for platform in WorldPlatform.allCases {
      outcome.figures[.reached(platform)] = Double(ledger.accepted(by: platform))
    }
    let events = scenario.events.map {
      (id: $0.id, isOver: ScenarioBooks(of: $0.id, world).isClosed)
    }
    let audit = StatisticsAudit(world, events, world.keys())
    outcome.figures[.wrongSums] = Double(audit.problems.count)
    outcome.problems = audit.problems
    noteRecords(&outcome)
    let news = world.partitions(of: World.newsTopic).reduce(0) {
      $0 + world.broker.records(of: $1).count
    }
    outcome.figures[.news] = Double(news)
    outcome.figures[.lost] = Double(lost)
    outcome.figures[.miscounted] = Double(miscounted)
    return outcome
  }
}

extension ScenarioLife {
  /// What Kafka holds at the end.
  private func noteRecords(_ outcome: inout ScenarioOutcome) {
    let committed = world.broker.committed(by: World.group)
    var uncommitted: Int64 = 0
    var largest = 0
    for (number, topic) in world.workTopics.enumerated() {
      let partitions = world.partitions(of: topic)
      let ends = partitions.map { world.broker.end(of: $0) ?? 0 }
      outcome.figures[.records(topic: number)] = Double(ends.reduce(0, +))
      for (partition, end) in zip(partitions, ends) {
        uncommitted += end - (committed[partition] ?? 0)
        for (_, record) in world.broker.records(of: partition) {
          largest = max(largest, record.value?.count ?? 0)
        }
      }
    }
    outcome.figures[.uncommitted] = Double(uncommitted)
    outcome.figures[.largestRecord] = Double(largest)
    outcome.figures[.failures] = Double(failures.withLock { $0 })
    outcome.figures[.followersRead] = Double(reads.withLock { $0 })
    outcome.figures[.letters] = Double(
      world.partitions(of: world.ingest.deadLettersTopic).reduce(0) {
        $0 + world.broker.records(of: $1).count
      })
  }
}

/// What Redis keeps of an event, read past all faults.
struct ScenarioBooks {
  private let state: String
  let numbers: [String: Int]

  init(of event: String, _ world: World) {
    let fields = world.hash(world.keyspace.event(id: event))
    state = fields["state"] ?? ""
    numbers = fields.compactMapValues { Int($0) }
  }

  subscript(_ field: String) -> Int { numbers[field] ?? 0 }

  var isClosed: Bool { ["done", "expired", "incomplete"].contains(state) }

  var rejected: Int {
    numbers.reduce(0) { $1.key.hasPrefix("rejected:") ? $0 + $1.value : $0 }
  }
}
