import APNs
import APNsSimulator
import Assembly
import Checkout
import Deliver
import Devices
import EventLoop
import Expand
import Ingest
import Kafka
import Keyspace
import MemoryKafka
import MemoryRedis
import Model
import Pipeline
import Record
import Redis
import Render
import Telemetry
import Transport

/// A whole deployment in one thread and in virtual time: Kafka, Redis and Apple in memory, FCM and
/// the push services of browsers where it has them, workers as they ship, and a backend. Everything
/// in it follows from the seed.
///
/// Unchecked: confined to the thread that runs it.
package final class World: @unchecked Sendable {
  package static let app = "com.example.live"
  /// Another app, of the same team.
  package static let otherApp = "com.example.other"
  package static let apple = Endpoint(host: "apple", port: 443)
  /// Apple by another name, as the environment of tests has one.
  package static let sandbox = Endpoint(host: "sandbox", port: 443)
  package static let group = "fanfare"
  /// News of tokens.
  package static let newsTopic = "notify-followers.tokens"
  private static let redisPlace = Endpoint(host: "redis", port: 6379)
  /// 2026-11-21T08:00:00Z, when the scheduler's clock begins.
  private static let beginning: Int64 = 1_795_248_000_000

  package let scheduler: WorldScheduler
  package let network: MemoryNetwork
  package let broker: MemoryBroker
  package let redis: WorldRedis
  package let simulator: APNsSimulator
  /// Nil: Apple is the only platform.
  let fcm: WorldFCM?
  let webpush: WorldWebPush?
  package let keyspace = Keyspace()
  package let ingest: IngestOptions
  package private(set) var workers: [WorldWorker] = []
  /// Of all processes.
  package let lines: WorldLog
  /// What the backend does runs here.
  package let loop: EventLoop
  private let backend: LoopActor
  private let backendHost: MemoryHost
  private let templates: [Template]
  private let observer: PushObserver
  /// Ms since 1970, by every clock that is right.
  package let wallClock: @Sendable () -> Int64
  private let epoch: UInt64
  /// Ms that the clock of Redis' machine is ahead of all others.
  var redisAhead: Int64 {
    get { redisClock.ahead }
    set { redisClock.ahead = newValue }
  }
  private let redisClock = WorldClock()
  /// Of all worlds: they are compiled once.
  private static let templates = Result {
    try (TemplateFile.readAll(in: Checkout.path("Config/templates")) + [WorldTemplate.source()])
      .map { try Template.compile($0) }
  }
  /// What the simulator follows now.
  package var script = SimulatorScript()

  /// - Parameters:
  ///   - directory: where the simulators write their files; it is read once.
  ///   - hasAllPlatforms: FCM and the push services of browsers are there, too.
  package init(
    seed: UInt64, directory: String, partitions: Int = 4, logLevel: LogLevel = .debug,
    hasAllPlatforms: Bool = false
  ) throws {
    lines = WorldLog(level: logLevel)
    var ingest = IngestOptions()
    ingest.tokensTopic = Self.newsTopic
    self.ingest = ingest
    scheduler = WorldScheduler(seed: seed)
    epoch = scheduler.now
    let (scheduler, epoch) = (scheduler, epoch)
    let wallClock: @Sendable () -> Int64 = {
      Self.beginning + Int64((scheduler.now &- epoch) / 1_000_000)
    }
    self.wallClock = wallClock
    network = MemoryNetwork(scheduler: scheduler)
    broker = MemoryBroker(
      MemoryTime(
        now: { scheduler.now }, wallClock: wallClock,
        schedule: { scheduler.schedule(after: $0, $1) }, random: { scheduler.numbers.next() }))
    for topic in [
      ingest.eventsTopic, ingest.segmentsTopic, ingest.bulkTopic, ingest.stragglersTopic,
      ingest.deadLettersTopic, Self.newsTopic,
    ] { broker.create(topic: topic, partitions: partitions) }
    let redisClock = redisClock
    redis = WorldRedis(
      at: Self.redisPlace, network: network, seed: seed,
      microseconds: {
        (Self.beginning + redisClock.ahead) * 1_000 + Int64((scheduler.now &- epoch) / 1_000)
      })
    network.change(Self.sandbox) { $0.leadsTo = Self.apple }
    var options = APNsSimulatorOptions(directory: directory)
    options.host = Self.apple.host
    options.port = Self.apple.port
    options.topics = [Self.app, Self.otherApp]
    options.requiresProviderToken = false
    options.seed = seed
    options.network = network
    options.usesTLS = false
    options.makeLoop = { scheduler.makeLoop($0) }
    options.clock = { wallClock() * 1_000 }
    let observer = PushObserver()
    self.observer = observer
    options.observe = { observer.hear?(WorldPush($0)) }
    simulator = APNsSimulator(options: options) { _ in }
    fcm =
      hasAllPlatforms
      ? try WorldFCM(
        network: network, seed: seed, directory: directory, observer, wallClock: wallClock) : nil
    webpush =
      hasAllPlatforms
      ? try WorldWebPush(
        network: network, seed: seed, directory: directory, observer, wallClock: wallClock) : nil
    templates = try Self.templates.get()
    loop = scheduler.makeLoop("backend")
    backend = LoopActor(loop)
    backendHost = broker.host("backend")
  }

  /// Hears of each request for a device that reaches its push service.
  package var whenPushed: ((WorldPush) -> Void)? {
    get { observer.hear }
    set { observer.hear = newValue }
  }

  // MARK: running

  /// Runs the life of this world on the caller's thread.
  package func live<T>(_ body: (World) throws -> T) rethrows -> T {
    try GlobalJobs.run(on: scheduler.pool) {
      redis.start()
      let started: Bool? = perform { _, world in
        _ = try await world.simulator.start()
        try await world.fcm?.start()
        try await world.webpush?.start()
        return true
      }
      precondition(started != nil, "a simulator does not start")
      return try body(self)
    }
  }

  /// Runs until `isOver`, for so much of the world's time at most.
  @discardableResult
  package func run(atMost limit: Duration, until isOver: () -> Bool) -> Bool {
    scheduler.run(atMost: limit, until: isOver)
  }

  /// Runs until what is asked for is done; nil when it failed or took five minutes.
  @discardableResult
  package func perform<T: Sendable>(
    _ body: @escaping @Sendable (isolated LoopActor, World) async throws -> T
  ) -> T? {
    nonisolated(unsafe) var outcome: Result<T, any Error>?
    let backend = backend
    onLoop(loop) { [self] in
      Task {
        let result = await backend.run { (actor: isolated LoopActor) in
          do { return Result<T, any Error>.success(try await body(actor, self)) } catch {
            return .failure(error)
          }
        }
        outcome = result
      }
    }
    run(atMost: .seconds(300)) { outcome != nil }
    return try? outcome?.get()
  }

  /// Those that workers read.
  package var workTopics: [String] {
    [ingest.eventsTopic, ingest.segmentsTopic, ingest.bulkTopic, ingest.stragglersTopic]
  }

  package func partitions(of topic: String) -> [KafkaPartition] {
    (0..<(broker.partitions(of: topic) ?? 0)).map {
      KafkaPartition(topic: topic, partition: Int32($0))
    }
  }

  /// Asks Redis past all that a client may meet.
  package func ask(_ command: String...) -> StoreReply {
    redis.server.store.execute(command.map { Array($0.utf8) }, now: wallClock() * 1_000)
  }

  /// Since the world began, for people.
  package var time: String { time(scheduler.now) }

  package func time(_ moment: UInt64) -> String {
    let milliseconds = (moment &- epoch) / 1_000_000
    let rest = String(milliseconds % 1_000 + 1_000).dropFirst()
    return "\(milliseconds / 1_000).\(rest)"
  }

  /// What the clock said at a moment of the scheduler.
  package func wallClock(at moment: UInt64) -> Int64 {
    Self.beginning + Int64((moment &- epoch) / 1_000_000)
  }

  package var rfc3339: String { WallClock.rfc3339(wallClock()) }

  /// Does something on the backend's loop, beside what goes on.
  package func begin(
    _ body: @escaping @Sendable (isolated LoopActor, World) async -> Void
  ) {
    let backend = backend
    onLoop(loop) { [self] in
      Task { await backend.run { (actor: isolated LoopActor) in await body(actor, self) } }
    }
  }

  // MARK: workers

  package func startWorker(
    _ name: String, lanes: Int = 1, _ change: (inout PipelineOptions) -> Void = { _ in }
  ) throws -> WorldWorker {
    let (host, clock) = (broker.host(name), WorldClock())
    let worker = try WorldWorker(
      name, host, clock, self, options: try options(name, host, clock, lanes: lanes), change)
    workers.append(worker)
    worker.start()
    return worker
  }

  private func options(
    _ name: String, _ host: MemoryHost, _ clock: WorldClock, lanes: Int
  ) throws -> PipelineOptions {
    let (scheduler, log) = (scheduler, lines.log(of: name, self))
    let tokens = ProviderTokenSource(
      key: ProviderKey(keyID: "WORLDWORLD", teamID: "WORLDWORLD") { _ in
        [UInt8](repeating: 7, count: 64)
      }, lifetime: .seconds(3_000), monotonic: { scheduler.now })
    var deliver = DeliverOptions(wallClock: wallClock, report: { log.deliver($0) })
    var route = RouteTarget(endpoint: Self.apple, tls: nil)
    route.network = network
    deliver.routes = [.production: route]
    route.endpoint = Self.sandbox
    deliver.routes[.sandbox] = route
    var record = RecordOptions()
    record.tellsTokens = true
    var kafka = KafkaOptions(bootstrapServers: "kafka:9092")
    kafka.group = Self.group
    var options = PipelineOptions(
      workerID: name, version: "world", lanes: lanes, kafka: kafka, ingest: ingest,
      redis: redisOptions,
      keyspace: keyspace, expand: ExpandOptions(), record: record, deliver: deliver,
      templates: templates, credentials: AppCredentials(APNsCredentials.key(tokens)), log: log,
      randomNumber: { scheduler.numbers.next() },
      processUsage: {
        ProcessUsage(cpuNanoseconds: 0, residentBytes: 0, peakResidentBytes: 0)
      }, processStartTime: Double(wallClock()) / 1_000)
    addPlatforms(to: &options, clock)
    options.clients = host.kafka
    options.instance = "\(name)-\(scheduler.numbers.next())"
    return options
  }

  /// Those besides Apple, if they are there.
  private func addPlatforms(to options: inout PipelineOptions, _ clock: WorldClock) {
    guard let fcm, let webpush else { return }
    let wallClock = wallClock
    let own: @Sendable () -> Int64 = { wallClock() + clock.ahead }
    var route = RouteTarget(endpoint: WorldFCM.endpoint, tls: nil)
    route.network = network
    options.deliver.routes[.fcm] = route
    // Each subscription names its own.
    route.endpoint = WorldWebPush.endpoints[0]
    options.deliver.routes[.webpush] = route
    let (account, tokens) = fcm.credentials(wallClock: own)
    options.credentials = options.credentials.adding(AppCredentials(account))
      .adding(AppCredentials(webpush.services(wallClock: own)))
    options.lookAtCredentials = {
      tokens.askIfDue(now: own())
      return []
    }
  }

  private var redisOptions: RedisOptions {
    var options = RedisOptions(host: Self.redisPlace.host, port: Self.redisPlace.port)
    options.network = network
    return options
  }

  // MARK: the backend

  /// A client of Redis as backends have one; on `loop`.
  package func withRedis<T>(_ body: (RedisClient) async throws -> T) async throws -> T {
    let client = RedisClient(
      options: redisOptions, loop: loop, log: { _ in },
      random: { [scheduler] in Double(scheduler.numbers.next() >> 11) / Double(1 << 53) })
    client.start()
    defer { client.close() }
    return try await body(client)
  }

  package func status(of event: String) -> FanOutStatus? {
    perform { _, world in
      try await world.withRedis {
        try await RecordStage(redis: $0, keyspace: world.keyspace).status(of: event)
      }
    } ?? nil
  }

  /// Each follower has one device.
  package func follow(_ streamer: String, tokens: [String]) {
    perform { _, world in
      try await world.withRedis { client in
        let registry = DeviceRegistry(redis: client, keyspace: world.keyspace)
        for (index, token) in tokens.enumerated() {
          let user = "\(streamer)-u\(index)"
          guard let binding = Binding(destination: .production, topic: Self.app, token: token)
          else { preconditionFailure("\(token) is no token") }
          try await registry.bind(user: user, binding, at: world.wallClock() - 86_400_000)
          try await registry.follow(streamer: streamer, user: user)
        }
      }
    }
  }

  package func emit(_ id: String, streamer: String, expiresIn: Int = 900) {
    let document = document(id, streamer: streamer, expiresIn: expiresIn)
    perform { _, world in
      try await world.write(Array(document.utf8), key: Array(streamer.utf8))
    }
  }

  /// An event's, as of now unless another time is named.
  /// - Parameter more: further members, each with a comma behind it.
  package func document(
    _ id: String, app: String = World.app, streamer: String, stream: String = "b1",
    template: String = "go-live", expiresIn: Int = 900, occurredAt: Int64? = nil, more: String = ""
  ) -> String {
    """
    {"id":"\(id)","app":"\(app)","streamer":{"id":"\(streamer)","name":"Aiko"},\
    "stream":{"id":"\(stream)","title":"Speedrun night"},"template":"\(template)",\(more)\
    "occurred_at":"\(WallClock.rfc3339(occurredAt ?? wallClock()))","expires_in":\(expiresIn)}
    """
  }

  /// Writes a record for Ingest, as a backend does; on `loop`.
  package func write(_ value: [UInt8], key: [UInt8]) async throws {
    let producer = backendHost.producer(KafkaOptions(bootstrapServers: "kafka:9092"))
    defer { producer.close(timeout: .zero) }
    _ = try await producer.send(
      topic: ingest.eventsTopic, partition: nil, key: key, value: value, headers: [])
  }

  /// Writes an event's record at once, as if a backend's producer had.
  package func append(_ document: String, key: String) {
    append(Array(document.utf8), key: key, to: ingest.eventsTopic)
  }

  /// Writes a record at once, to the partition that its key decides on.
  package func append(
    _ value: [UInt8]?, key: String, headers: [KafkaHeader] = [], to topic: String
  ) {
    let bytes = Array(key.utf8)
    let hash = bytes.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
    let partition = hash % (broker.partitions(of: topic) ?? 1)
    broker.append(
      MemoryRecord(key: bytes, value: value, headers: headers, timestamp: wallClock()),
      to: KafkaPartition(topic: topic, partition: Int32(partition)))
  }

  /// Lets go of all that a world has. The last call, within `live`.
  package func end() {
    whenPushed = nil
    lines.print = nil
    broker.whenCommitted = nil
    perform { _, world in
      await world.simulator.stop()
      await world.fcm?.simulator.stop()
      await world.webpush?.simulator.stop()
    }
    broker.end()
    redis.end()
    network.end()
    endWorkers()
    for loop in [loop, redis.loop] { loop.stop() }
    run(atMost: .seconds(1)) { false }
    scheduler.end()
    workers = []
  }

  /// A worker that was killed waits for ever for what it had asked for, and keeps all that it had.
  /// So it goes on once more, without Kafka and a network, and stops.
  private func endWorkers() {
    let running = workers.filter { !$0.hasStopped }
    for worker in running { worker.endAfterDeath() }
    run(atMost: .seconds(180)) { running.allSatisfy(\.hasStopped) }
  }
}
