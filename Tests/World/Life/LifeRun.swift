import APNsSimulator
import Devices
import EventLoop
import FCMSimulator
import Kafka
import MemoryKafka
import MemoryRedis
import Model
import Record
import Redis
import Telemetry
import Text
import WebPushSimulator

/// What became of a life.
package struct LifeReport: Sendable {
  package var violations: [String] = []
  /// Of all that was written to logs and reached Apple: two runs of one seed have the same.
  package var digest: UInt64 = 0
  package var steps = 0
  package var seconds = 0.0
  package var events = 0
  package var devices = 0
  package var faults = 0
  package var accepted = 0
  package var requests = 0
  package var copies = 0

  package init() {}
}

/// Lives a plan in a world of its own.
package final class LifeRun {
  let plan: LifePlan
  let world: World
  let truth: Truth
  let oracle: Oracle
  /// When the deeds begin.
  private var start: UInt64
  /// By number of the plan; the last process of each.
  private var workers: [Int: WorldWorker] = [:]
  /// Users of whom a backend changes something just now.
  private var busy: Set<Int> = []
  private var nextDevice: Int { truth.devices }
  var fcmScript = FCMSimulatorScript()
  var webpushScript = WebPushSimulatorScript()

  /// How long after the last fault everything has come to its end.
  package static let settlesWithin: Duration = .seconds(180)
  /// The same where push services ask for waits of minutes: FCM after a quota that is used up, and
  /// Mozilla with Retry-After.
  private static let servicesSettleWithin: Duration = .seconds(480)
  private static let expiresWithin: Duration = .seconds(1_200)
  private static let stopsWithin: Duration = .seconds(60)

  /// - Parameters:
  ///   - directory: a scratch directory, for the simulator's files.
  ///   - audiences: what lives before this one have written.
  ///   - print: gets each line of the trace.
  package static func run(
    _ plan: LifePlan, directory: String, audiences: LifeAudiences = LifeAudiences(),
    isStormOnly: Bool = false, print: ((String) -> Void)? = nil
  ) throws -> LifeReport {
    let world = try World(
      seed: plan.seed, directory: directory, logLevel: print == nil ? .info : .debug,
      hasAllPlatforms: plan.hasAllPlatforms)
    world.lines.isKept = false
    if let print { world.lines.print = { [unowned world] in print("\(world.time) \($0)") } }
    return try world.live { world in
      defer { world.end() }
      let life = LifeRun(plan, world, audiences)
      if isStormOnly { return life.runStorm() }
      return try life.run()
    }
  }

  private init(_ plan: LifePlan, _ world: World, _ audiences: LifeAudiences) {
    self.plan = plan
    self.world = world
    start = world.scheduler.now
    truth = Truth(streamers: plan.streamers.count) { [scheduler = world.scheduler] in
      scheduler.now
    }
    oracle = Oracle(world, truth, plan)
    world.broker.trace = { [lines = world.lines] in lines.add("kafka: \($0)") }
    world.broker.delay = { [scheduler = world.scheduler] _ in
      .microseconds(100 + scheduler.number(below: 900))
    }
    populate(audiences)
    world.network.change(World.apple) { $0.delay = usualWay }
    world.script.latency = plan.appleThinks
    world.script.jitter = plan.appleThinks / 2
    world.script.streams = plan.streams
    startServices()
    if plan.deeds.contains(where: \.deed.needsReplica) {
      world.redis.replicate(lags: plan.waitsForReplicas)
    }
  }

  var usualWay: ClosedRange<Duration> { plan.wayToApple / 2...plan.wayToApple }

  // MARK: the audience

  private func populate(_ audiences: LifeAudiences) {
    for user in 0..<plan.users {
      if Self.isMuted(user) { truth.mute(user) }
      for _ in 0..<[1, 1, 2, 1, 3][user % 5] {
        let device = device(of: user)
        oracle.devices[device.number] = device
      }
    }
    for streamer in plan.streamers.indices {
      for user in followers(of: streamer) { truth.addFollow(user, of: streamer) }
    }
    audiences.use(
      plan.audience + (plan.hasAllPlatforms ? LifePlan.audiences : 0), in: world.redis.server
    ) { write() }
  }

  /// From the beginning; some of the restless are among them.
  private func followers(of number: Int) -> [Int] {
    let streamer = plan.streamers[number]
    return Array(streamer.first..<streamer.first + streamer.count)
      + plan.restless.filter { $0 % plan.streamers.count == number && $0 % 3 == 0 }
  }

  private func write() {
    let audience = WorldAudience(world)
    for user in 0..<plan.users {
      var profile = ["locale": "en", "name": "Ken"]
      if Self.isMuted(user) { profile["muted"] = "1" }
      audience.profile("u\(user)", profile)
      for number in truth.devices(of: user) {
        if let device = oracle.devices[number] { audience.bind(device, to: "u\(user)") }
      }
    }
    for (number, streamer) in plan.streamers.enumerated() {
      audience.follow(
        "s\(number)", users: followers(of: number).map { "u\($0)" }, shards: streamer.shards)
    }
  }

  private static func isMuted(_ user: Int) -> Bool { user % 50 == 49 }

  /// One in some dozens is no ordinary one.
  private func device(of user: Int) -> WorldDevice {
    let number = truth.addDevice(to: user)
    switch user % 331 {
    // Not a device of ours any more, or since long before it was bound; too small for its payload.
    case 17: return device(number, "410", fcm: .unregistered, webpush: .gone)
    case 101: return device(number, "412", fcm: .badToken, webpush: .notFound)
    case 211: return device(number, "413", fcm: .senderIDMismatch, webpush: .badRequest)
    // Taken when they are tried again.
    case 47: return device(number, "503", fcm: .unavailable, webpush: .internal, tries: 2)
    case 71: return device(number, "429", fcm: .internal, webpush: .badGateway, tries: 3)
    case 131: return device(number, "e07", fcm: .refusedStream, webpush: .refusedStream, tries: 1)
    case 151: return device(number, "e02", fcm: .reset, webpush: .reset, tries: 2)
    case 191: return device(number, "fff", fcm: .silence, webpush: .silence, tries: 1)
    case 231 where plan.hasClosers:
      return device(number, "dc0", fcm: .drop, webpush: .drop, tries: 3)
    default: return newDevice(number)
    }
  }

  private func device(
    _ number: Int, _ apple: String, fcm: FCMFault, webpush: WebPushFault, tries: Int = 0
  ) -> WorldDevice {
    device(
      number, WorldDevice(number, answer: apple, tries: tries), fcm: (fcm, tries),
      webpush: (webpush, tries))
  }

  // MARK: the life

  private func storm() {
    Storm(world, oracle, seed: plan.seed).run()
    start = world.scheduler.now
  }

  private func runStorm() -> LifeReport {
    storm()
    var report = LifeReport()
    report.violations = oracle.violations
    return report
  }

  private func run() throws -> LifeReport {
    let script = world.script
    world.begin { _, world in await world.simulator.replaceScript(script) }
    if world.fcm != nil { replaceServiceScripts() }
    storm()
    var last: Duration = .zero
    for timed in plan.deeds {
      pass(until: timed.at)
      world.lines.add("life: \(timed.number): \(timed.deed)")
      try perform(timed.deed)
      last = max(last, timed.at + timed.deed.duration)
    }
    pass(until: max(last, LifePlan.lastDeed))
    try startSomebody()
    settle()
    end()
    var report = LifeReport()
    report.violations = oracle.violations
    report.digest = world.lines.digest
    report.steps = world.scheduler.steps
    report.seconds = Double(world.scheduler.now - start) / 1e9
    report.events = oracle.events.count { $0.isWritten }
    report.devices = truth.devices
    report.faults = plan.faults.count
    (report.accepted, report.requests) = (oracle.book.accepted, oracle.book.requests)
    report.copies = oracle.book.copies.count
    return report
  }

  /// Looks at the events on the way, so that it is known when each was over.
  private func pass(until time: Duration) {
    let end = start &+ time.nanoseconds
    while world.scheduler.now < end {
      let left = Duration.nanoseconds(Int64(end - world.scheduler.now))
      world.run(atMost: min(left, .milliseconds(500))) { false }
      _ = oracle.look()
    }
  }

  private func startSomebody() throws {
    if !workers.values.contains(where: \.isAlive) { try startWorker(0) }
  }

  private func settle() {
    world.redis.isLagging = false
    // Who waits for records that Kafka has thrown away waits until the event expires; so does who
    // waits for a segment that was settled, which a fail-over has undone.
    let waitsForExpiry = plan.losesRecords || (plan.losesNotes && !plan.waitsForReplicas)
    let usual = plan.hasAllPlatforms ? Self.servicesSettleWithin : Self.settlesWithin
    let limit = waitsForExpiry ? Self.expiresWithin : usual
    let end = world.scheduler.now &+ limit.nanoseconds
    if plan.losesRecords { world.run(atMost: .seconds(30)) { false } }
    var areOver = false
    while !areOver, world.scheduler.now < end {
      world.run(atMost: .milliseconds(500)) { false }
      areOver = oracle.look() && busy.isEmpty
    }
    if !areOver {
      let open = oracle.events.filter { $0.isWritten && $0.over == .max }.map(\.id)
      oracle.fail(
        "\(limit) after the last fault these events are not over: \(open), and "
          + "backends still work for \(busy.count) users")
    }
    // What is counted behind the end, and a point of the series behind that. A worker whose clock
    // was ahead may have written the points of some intervals too early.
    let clockLead = plan.deeds.map(\.deed.clockLead).max() ?? .zero
    world.run(atMost: .seconds(21) + clockLead) { false }
  }

  private func end() {
    var statuses: [String: FanOutStatus] = [:]
    for event in oracle.events where event.isWritten {
      statuses[event.id] = world.status(of: event.id)
    }
    oracle.checkEnd(statuses)
    oracle.checkWorkers(statuses)
    let alive = workers.keys.sorted().compactMap { workers[$0] }.filter(\.isAlive)
    for worker in alive { worker.stop() }
    let haveStopped = world.run(atMost: Self.stopsWithin) { !alive.contains(where: \.isAlive) }
    if !haveStopped { oracle.fail("a worker does not stop within \(Self.stopsWithin)") }
    world.run(atMost: .seconds(2)) { false }
    let open = world.network.openConnections
    if haveStopped, open > 0 { oracle.fail("\(open) connections are open when all have stopped") }
  }

  // MARK: deeds

  private func perform(_ deed: Deed) throws {
    switch deed {
    case .start(let worker): try startWorker(worker)
    case .stop(let worker): workers[worker].map { if $0.isAlive { $0.stop() } }
    case .kill(let worker, let turns):
      guard let process = workers[worker], process.isAlive else { return }
      process.kill(afterTurns: turns) { [oracle] in oracle.note(deed) }
    case .freeze(let worker, let duration):
      guard let process = workers[worker], process.isAlive else { return }
      oracle.note(deed)
      process.freeze(for: duration)
    case .skew(let worker, let milliseconds, let duration):
      guard let process = workers[worker] else { return }
      oracle.note(deed)
      process.clockAhead = milliseconds
      later(duration) { process.clockAhead = 0 }
    case .apple(let fault, let duration):
      oracle.note(deed)
      begin(fault, for: duration)
    case .service(let service, let fault, let duration):
      oracle.note(deed)
      begin(fault, on: service, for: duration)
    case .redis(let fault, let duration):
      oracle.note(deed)
      begin(fault, for: duration)
    case .kafka(let fault, let duration):
      oracle.note(deed)
      begin(fault, for: duration)
    default: performForBackend(deed)
    }
  }

  private func startWorker(_ number: Int) throws {
    workers[number]?.killIfPending()
    if let known = workers[number], known.isAlive { return }
    workers[number] = try world.startWorker("w\(number)", lanes: plan.lanes) { options in
      options.record.trace = self.plan.tracesAll ? .all : .failures
      options.redis.replicasToWaitFor = self.plan.waitsForReplicas ? 1 : 0
    }
  }

  func worker(_ number: Int) -> WorldWorker? { workers[number] }

  func later(_ duration: Duration, _ body: @escaping () -> Void) {
    world.scheduler.schedule(after: duration, body)
  }

  /// A backend changes something of a user, and asks again until it is done. While it does, what
  /// is to be done for the same user is left out.
  func work(
    for users: [Int], _ body: @escaping BackendWork,
    whenDone: @escaping () -> Void
  ) {
    busy.formUnion(users)
    persist(body) { [self] in
      busy.subtract(users)
      whenDone()
    }
  }

  func change(
    _ users: [Int],
    _ body: @escaping (isolated LoopActor, DeviceRegistry) async throws -> Void,
    whenDone: @escaping () -> Void
  ) {
    nonisolated(unsafe) let body = body
    work(
      for: users,
      { try await body($0, DeviceRegistry(redis: $1, keyspace: $2.keyspace)) }, whenDone: whenDone)
  }

  func isBusy(_ users: [Int]) -> Bool { !busy.isDisjoint(with: users) }
}
