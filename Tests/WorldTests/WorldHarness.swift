import APNsSimulator
import EventLoop
import Kafka
import Keyspace
import MemoryKafka
import MemoryRedis
import Model
import Pipeline
import Processes
import Record
import Redis
import Telemetry
import Testing
import Transport
import World

/// What a test of the whole way needs of a world: the same as `WorkerBed` has with real servers.
final class WorldHarness {
  static let app = World.app
  let world: World

  struct Timeout: Error, CustomStringConvertible {
    let what: String
    let lines: [String]

    var description: String {
      "waited four minutes for: \(what)\n" + lines.joined(separator: "\n")
    }
  }

  private let directory: String

  private init(_ world: World, _ directory: String) {
    self.world = world
    self.directory = directory
  }

  /// Runs a test in a world of its own.
  static func live<T>(
    partitions: Int = 4, script: SimulatorScript = SimulatorScript(),
    _ body: (WorldHarness) throws -> T
  ) throws -> T {
    let directory = try ScratchDirectory()
    let world = try World(seed: 1, directory: directory.path, partitions: partitions)
    return try world.live { world in
      let harness = WorldHarness(world, directory.path)
      harness.watchSlots()
      harness.replaceScript(script)
      let outcome = Result { try body(harness) }
      world.end()
      #expect(harness.acrossSlots.isEmpty, "a Redis Cluster refuses \(harness.acrossSlots)")
      return try outcome.get()
    }
  }

  /// Scripts whose keys are of several slots.
  private(set) var acrossSlots: Set<String> = []

  private func watchSlots() {
    world.redis.server.losesReply = { [unowned self] command, _ in
      guard command.count > 3, ["eval", "evalsha"].contains(command[0].text.lowercased()),
        let count = Int(command[2].text), count > 1
      else { return false }
      let tags = Set(command[3...].prefix(count).map { Self.tag($0.text) })
      if tags.count > 1 { acrossSlots.insert(tags.sorted().joined(separator: " ")) }
      return false
    }
  }

  /// What decides on a key's slot.
  private static func tag(_ key: String) -> Substring {
    guard let open = key.firstIndex(of: "{"), let close = key[open...].firstIndex(of: "}"),
      key.index(after: open) < close
    else { return key[...] }
    return key[key.index(after: open)..<close]
  }

  // MARK: time

  /// Ms since 1970.
  var now: Int64 { world.wallClock() }

  func pass(_ time: Duration) { world.run(atMost: time) { false } }

  /// Lets time pass until `probe` gives something.
  func until<T>(_ what: String, _ probe: () throws -> T?) throws -> T {
    let began = world.scheduler.now
    while true {
      if let found = try probe() { return found }
      let waited = Duration.nanoseconds(Int64(world.scheduler.now - began))
      guard waited < .seconds(240) else { break }
      pass(min(max(waited / 20, .milliseconds(10)), .milliseconds(200)))
    }
    throw Timeout(what: what, lines: world.lines.lines.suffix(30))
  }

  func wait(for what: String, _ holds: () throws -> Bool) throws {
    _ = try until(what) { try holds() ? true : nil }
  }

  // MARK: workers

  /// With the pauses between tries that tests with real servers have.
  func startWorker(
    _ name: String = "worker-1", lanes: Int = 2,
    _ change: (inout PipelineOptions) -> Void = { _ in }
  ) throws -> WorldWorker {
    try world.startWorker(name, lanes: lanes) {
      $0.deliver.retry = .init(initial: .milliseconds(20), maximum: .milliseconds(500))
      $0.drainTimeout = .seconds(20)
      change(&$0)
    }
  }

  func startWorker(_ change: (inout PipelineOptions) -> Void) throws -> WorldWorker {
    try startWorker("worker-1", change)
  }

  /// A clock that is so many ms ahead.
  func clock(ahead: Int64) -> @Sendable () -> Int64 {
    let wallClock = world.wallClock
    return { wallClock() + ahead }
  }

  /// Waits until so many workers have partitions.
  func ready(workers: Int = 1) throws {
    try wait(for: "partitions are assigned") {
      world.broker.members(of: World.group).count { !$0.partitions.isEmpty } >= workers
    }
  }

  /// Returns whether it had nothing left.
  func stop(_ worker: WorldWorker) -> Bool {
    worker.stop()
    world.run(atMost: .seconds(120)) { worker.hasStopped }
    return worker.hasStopped && worker.hasDoneEverything
  }

  func metrics(_ worker: WorldWorker) -> String {
    let worker = worker.worker
    return world.perform { _, _ in await worker.metrics().text } ?? ""
  }

  func health(_ worker: WorldWorker) -> [HealthPart] {
    let worker = worker.worker
    return world.perform { _, _ in await worker.health() } ?? []
  }

  // MARK: Redis

  var keyspace: Keyspace { world.keyspace }

  /// Asks past all faults; as redis-cli prints it.
  @discardableResult
  func redis(_ command: String...) -> String { redis(command) }

  @discardableResult
  func redis(_ command: [String]) -> String {
    text(
      world.redis.server.store.execute(command.map { ByteString($0) }, now: now * 1_000))
  }

  /// From now on workers' Redis user may not run these.
  func deny(_ commands: [String]) {
    world.redis.server.users["default"] = MemoryRedis.User(
      denied: Set(commands.map { ByteString($0) }))
  }

  private func text(_ reply: StoreReply) -> String {
    switch reply {
    case .status(let text), .error(let text), .bulk(let text): text.text
    case .integer(let number): "\(number)"
    case .null, .nullArray: ""
    case .array(let parts): parts.map { text($0) }.joined(separator: "\n")
    }
  }

  /// Runs `body` with a client of its own.
  func withRedis<T: Sendable>(
    _ body: @escaping @Sendable (RedisClient) async throws -> T
  ) throws -> T {
    let result = world.perform { _, world in try await world.withRedis { try await body($0) } }
    guard let result else { throw Timeout(what: "Redis", lines: world.lines.lines.suffix(30)) }
    return result
  }

  func status(_ event: String) -> FanOutStatus? { world.status(of: event) }

  /// When workers look at a scheduled event next, in ms since 1970; empty: never.
  func listed(_ event: String) -> String { redis("ZSCORE", keyspace.statsScheduled, event) }

  /// Waits until it is scheduled, and workers will look at it.
  func isScheduled(_ event: String) throws {
    try wait(for: "\(event) is scheduled") {
      status(event)?.state == .scheduled && !listed(event).isEmpty
    }
  }

  /// Waits until the fan-out has come to its end.
  func finished(_ event: String) throws -> FanOutStatus {
    try until("\(event) is done") {
      let status = status(event)
      return [.done, .expired, .incomplete].contains(status?.state) ? status : nil
    }
  }

  func order(_ halt: Halt?, _ event: String) throws -> Bool {
    let (keyspace, now) = (keyspace, now)
    return try withRedis { client in
      try await RecordStage(redis: client, keyspace: keyspace)
        .setHalt(halt, of: event, reason: "test", now: now) == .done
    }
  }

  // MARK: followers

  /// Each token is the only device of a follower of its own.
  func follow(_ streamer: String, tokens: [String], destination: Destination = .production) {
    let users = tokens.indices.map { "\(streamer)-u\($0)" }
    let audience = WorldAudience(world)
    for (user, token) in zip(users, tokens) {
      bind(token, to: user, destination: destination)
      audience.profile(user, ["name": "Kim"])
    }
    audience.follow(
      streamer, users: users, shards: Keyspace.recommendedShards(followers: users.count))
  }

  /// One follower with all of these tokens, each for its topic.
  func follow(_ streamer: String, device tokens: [(token: String, topic: String)]) {
    for (token, topic) in tokens { bind(token, to: "\(streamer)-u0", topic: topic) }
    WorldAudience(world).follow(streamer, users: ["\(streamer)-u0"])
  }

  func bind(
    _ token: String, to user: String, destination: Destination = .production,
    topic: String = World.app
  ) {
    WorldAudience(world).bind(
      member: "apns:\(destination.name):\(topic):\(token)", token: token, to: user,
      at: 1_767_225_600_000)
  }

  /// Follower `index` of each shard has the device that `token` names, if any.
  func followInShards(
    _ streamer: String, shards: Int, perShard: Int, destination: Destination = .production,
    token: (_ shard: Int, _ index: Int) -> String?
  ) {
    precondition(shards & (shards - 1) == 0, "a number of shards is a power of two")
    var users: [String] = []
    var counts = [Int](repeating: 0, count: shards)
    for user in (0...).lazy.map({ "\(streamer)-u\($0)" }) {
      guard users.count < shards * perShard else { break }
      let shard = Keyspace.shard(of: user, shards: shards)
      guard counts[shard] < perShard else { continue }
      users.append(user)
      if let token = token(shard, counts[shard]) {
        bind(token, to: user, destination: destination)
      }
      counts[shard] += 1
    }
    WorldAudience(world).follow(streamer, users: users, shards: shards)
  }

  // MARK: events

  func emit(
    _ id: String, streamer: String = "s1", expiresIn: Int = 900, occurredAt: Int64? = nil,
    template: String = "go-live", more: String = ""
  ) {
    let document = world.document(
      id, streamer: streamer, template: template, expiresIn: expiresIn, occurredAt: occurredAt,
      more: more)
    append(document, key: streamer)
  }

  /// Writes a record at once; the events' topic unless another one is named.
  func append(
    _ value: String, key: String, headers: [KafkaHeader] = [], topic: String? = nil
  ) {
    append(Array(value.utf8), key: key, headers: headers, topic: topic)
  }

  func append(
    _ value: [UInt8]?, key: String, headers: [KafkaHeader] = [], topic: String? = nil
  ) {
    world.append(value, key: key, headers: headers, to: topic ?? world.ingest.eventsTopic)
  }

  /// How many records were ever written to a topic.
  func records(of topic: String) -> Int {
    world.partitions(of: topic).reduce(0) { $0 + Int(world.broker.end(of: $1) ?? 0) }
  }

  var deadLetters: [MemoryRecord] {
    world.partitions(of: world.ingest.deadLettersTopic).flatMap {
      world.broker.records(of: $0).map(\.record)
    }
  }

  // MARK: Apple

  func replaceScript(_ script: SimulatorScript) {
    world.perform { _, world in await world.simulator.replaceScript(script) }
  }

  var summary: SimulatorSummary {
    guard let summary = world.perform({ _, world in await world.simulator.summary() }) else {
      preconditionFailure("the simulator does not answer")
    }
    return summary
  }

  /// Starts another Apple, for the environment of tests.
  func startSandbox(
    streams: Int? = nil, script: SimulatorScript = SimulatorScript()
  ) -> WorldSandbox {
    let (scheduler, wallClock) = (world.scheduler, world.wallClock)
    var options = APNsSimulatorOptions(directory: directory)
    options.host = World.sandbox.host
    options.port = World.sandbox.port
    options.topics = [World.app]
    options.requiresProviderToken = false
    options.isDevelopment = true
    if let streams { (options.firstStreams, options.streams) = (streams, streams) }
    options.script = script
    options.network = world.network
    options.usesTLS = false
    options.makeLoop = { scheduler.makeLoop($0) }
    options.clock = { wallClock() * 1_000 }
    let simulator = APNsSimulator(options: options) { _ in }
    world.network.change(World.sandbox) {
      $0.leadsTo = nil
      $0.isRefused = false
    }
    world.perform { _, _ in _ = try await simulator.start() }
    return WorldSandbox(world: world, simulator: simulator)
  }

  func counts(of token: String) -> (requests: Int, accepted: Int) {
    counts(of: [token])[0]
  }

  func counts(of tokens: [String]) -> [(requests: Int, accepted: Int)] {
    world.perform { _, world in await world.simulator.counts(of: tokens) } ?? []
  }

  // MARK: log

  /// Each with who wrote it in front, as people read them.
  var lines: [String] { world.lines.lines }

  func hasSaid(_ text: String...) -> Bool {
    lines.contains { line in text.allSatisfy { line.contains($0) } }
  }
}

struct WorldSandbox {
  let world: World
  let simulator: APNsSimulator

  var summary: SimulatorSummary {
    guard let summary = world.perform({ [simulator] _, _ in await simulator.summary() }) else {
      preconditionFailure("the sandbox does not answer")
    }
    return summary
  }

  func replaceScript(_ script: SimulatorScript) {
    world.perform { [simulator] _, _ in await simulator.replaceScript(script) }
  }
}

extension WorldWorker {
  var counters: WorkerCounters { worker.counters }
}

extension APNsSimulator {
  /// Of each of them, in order.
  fileprivate func counts(of tokens: [String]) -> [(requests: Int, accepted: Int)] {
    tokens.map { counts(of: $0) }
  }
}

/// A token of 64 hex digits that is nothing but a number.
func paddedHex(_ number: Int) -> String { WorldDevice.token(number, head: "") }

/// One that Apple answers as `MagicTokens` says.
func magic(_ code: String, _ number: Int) -> String {
  WorldDevice.token(number, head: MagicTokens.prefix + code)
}
