import APNs
import APNsSimulator
import Assembly
import Checkout
import Deliver
import Devices
import EventLoop
import Expand
import Fixtures
import Glibc
import Ingest
import Kafka
import Keyspace
import Model
import Pipeline
import Processes
import Record
import Redis
import Render
import ServerProcesses
import Settings
import TLS
import Telemetry
import Threads
import Transport

/// Everything that the way of an event needs, real but small: a redis-server or a Redis Cluster,
/// the embedded broker, the simulator; workers are started by each test. All of it goes with the
/// object.
package final class WorkerBed: Sendable {
  package static let app = "com.example.live"

  package let directory: ScratchDirectory
  /// Of a cluster: its first master, whose redis-cli finds every key.
  package let redis: RedisServerProcess
  package let cluster: RedisClusterProcess?
  let kafka: BedKafka
  package let simulator: APNsSimulator
  package let address: APNsSimulatorAddress
  package let keyspace = Keyspace()
  package let log: Log
  package let sink = MemorySink()
  /// Of whoever starts workers; empty: the simulator has made one.
  package let keys: [BedKey]
  private let loop = EventLoop(name: "bed")
  private let actor: LoopActor
  private let producer: KafkaProducer
  private let workers = ThreadLock<[Worker]>([])

  /// Where `TESTS_REDIS_CLUSTER` is set, a test that does not name its Redis gets a cluster.
  package init(
    kafka: RealKafka? = nil, redis: RedisServerProcess? = nil, cluster: RedisClusterProcess? = nil,
    partitions: Int = 4, topics: [String] = [app], script: SimulatorScript = SimulatorScript(),
    keys: [BedKey] = [], authority: BedAuthority? = nil, isLegacy: Bool = false
  ) async throws {
    self.keys = keys
    directory = try ScratchDirectory()
    let wantsCluster = redis == nil && cluster == nil && getenv("TESTS_REDIS_CLUSTER") != nil
    let cluster =
      try wantsCluster
      ? RedisClusterProcess(hasReplicas: false, options: RedisClusterProcess.slowFailOver) : cluster
    self.cluster = cluster
    self.redis = try cluster?.masters[0] ?? redis ?? RedisServerProcess()
    self.kafka = try BedKafka(kafka, partitions: partitions)
    var options = APNsSimulatorOptions(directory: directory.path)
    options.topics = topics
    options.script = script
    options.authority = authority?.authority
    options.providerKeys = keys.map(\.known)
    if isLegacy { (options.binaryPort, options.feedbackPort) = (0, 0) }
    simulator = APNsSimulator(options: options) { _ in }
    address = try await simulator.start()
    actor = LoopActor(loop)
    log = Log(LogOptions(level: .debug, format: .json), sink: sink)
    producer = try KafkaProducer(self.kafka.options) { _ in }
    ProcessEnd.takeOver()
  }

  deinit {
    producer.close(timeout: .seconds(1))
    // A test that failed in the middle has stopped none of its workers. They need what stands
    // around them until they have.
    let (simulator, workers) = (simulator, workers.withLock { $0 })
    let surroundings = (kafka, redis, cluster, directory)
    ProcessEnd.awaits {
      for worker in workers { await worker.stop() }
      await simulator.stop()
      withExtendedLifetime(surroundings) {}
    }
    loop.stop()
  }

  /// nil on a real one.
  package var broker: EmbeddedBroker? { kafka.embedded }
  package var bootstrapServers: String { kafka.bootstrapServers }

  // MARK: workers

  package func options(id: String = "worker-1") throws -> PipelineOptions {
    let pem =
      try keys.first?.pem
      ?? BoundedFile.read(
        address.providerKeyFile ?? "", maximumBytes: 16_384
      ).text
    let key = try ES256Key(pem: pem)
    let tokens = ProviderTokenSource(
      key: ProviderKey(keyID: address.keyID, teamID: address.teamID) { try key.sign($0) },
      lifetime: .seconds(3000), monotonic: { MonotonicClock.nowNanoseconds() })
    let log = log
    var deliver = DeliverOptions(
      wallClock: { WallClock.nowMilliseconds() }, report: { log.deliver($0) })
    let security = try ClientSecurity(caFile: address.authorityFile, alpn: ["h2"])
    let endpoint = Endpoint(host: address.host, port: address.port)
    deliver.routes = [.production: RouteTarget(endpoint: endpoint, tls: security)]
    deliver.retry = RetryPolicy(initial: .milliseconds(20), maximum: .milliseconds(500))
    let templates = try TemplateFile.readAll(in: Self.templates).map { try Template.compile($0) }
    var options = PipelineOptions(
      workerID: id, version: "test", lanes: 2, kafka: kafka.options,
      ingest: kafka.ingest, redis: redisOptions, keyspace: keyspace,
      expand: ExpandOptions(), record: RecordOptions(), deliver: deliver,
      templates: templates,
      credentials: AppCredentials(APNsCredentials.key(tokens)), log: log,
      randomNumber: { .random(in: .min ... .max) },
      processUsage: { .own() }, processStartTime: ProcessUsage.ownStartTime)
    options.drainTimeout = .seconds(20)
    return options
  }

  package func startWorker(
    _ change: (inout PipelineOptions) -> Void = { _ in }
  ) async throws -> Worker {
    var options = try options()
    change(&options)
    let worker = try Worker(options: options)
    workers.withLock { $0.append(worker) }
    try await worker.start()
    return worker
  }

  /// Waits until workers have partitions: a fresh group takes seconds to form.
  package func ready(workers: Int = 1) async throws {
    _ = try await until("partitions are assigned") {
      self.sink.lines.count { $0.contains("partitions assigned") } >= workers ? true : nil
    }
  }

  // MARK: what goes in

  package var redisOptions: RedisOptions {
    var options = RedisOptions(port: redis.port)
    options.clusterNodes = cluster?.endpoints ?? []
    return options
  }

  /// Runs `body` with a Redis client on the bed's own loop.
  package func withRedis<T: Sendable>(
    _ body: @Sendable (RedisClient) async throws -> T
  ) async throws -> T {
    var options = redisOptions
    // A server that a test keeps busy answers late.
    options.commandTimeout = .seconds(60)
    return try await actor.run { [loop, options] _ in
      let client = RedisClient(options: options, loop: loop) { _ in }
      client.start()
      defer { client.close() }
      return try await body(client)
    }
  }

  /// Returns when the event occurred, in ms since 1970.
  @discardableResult
  package func emit(
    _ id: String, streamer: String = "s1", expiresIn: Int = 900,
    occurredAt: Int64 = WallClock.nowMilliseconds(), template: String = "go-live",
    app: String = app
  ) async throws -> Int64 {
    let document = """
      {"id":"\(id)","app":"\(app)","streamer":{"id":"\(streamer)","name":"Aiko"},\
      "stream":{"id":"b1","title":"Speedrun night"},"template":"\(template)",\
      "occurred_at":"\(WallClock.rfc3339(occurredAt))","expires_in":\(expiresIn)}
      """
    try await emit(raw: Array(document.utf8), key: streamer)
    return occurredAt
  }

  package func emit(
    raw: [UInt8]?, key: String, headers: [KafkaHeader] = [], topic: String? = nil
  ) async throws {
    _ = try await producer.send(
      topic: topic ?? kafka.ingest.eventsTopic, key: Array(key.utf8), value: raw, headers: headers)
  }

  // MARK: what comes out

  package func status(_ event: String) async throws -> FanOutStatus? {
    let keyspace = keyspace
    return try await withRedis { client in
      try await RecordStage(redis: client, keyspace: keyspace).status(of: event)
    }
  }

  /// Waits until the fan-out has come to its end, two minutes at most.
  package func finished(_ event: String) async throws -> FanOutStatus {
    try await until("\(event) is done") {
      let status = try await self.status(event)
      return [.done, .expired, .incomplete].contains(status?.state) ? status : nil
    }
  }

  /// Asks again until `probe` gives something, two minutes at most: every 10 ms on the bed's loop,
  /// and less often the longer it takes, so that tests that wait leave the cores to others.
  package func until<T: Sendable>(
    _ what: String, _ probe: @Sendable () async throws -> T?
  ) async throws -> T {
    let began = ContinuousClock.now
    while true {
      if let found = try await probe() { return found }
      let waited = ContinuousClock.now - began
      guard waited < .seconds(120) else { break }
      await actor.wait(min(max(waited / 20, .milliseconds(10)), .milliseconds(200)))
    }
    throw LocalRunError(
      .failed,
      "waited two minutes for: \(what)\n" + sink.lines.suffix(30).joined(separator: "\n"))
  }

  package static let templates = Checkout.path("Config/templates")
}

extension APNsSimulator {
  /// Of each of them, in order, in one visit: there may be tens of thousands.
  package func counts(of tokens: [String]) -> [(requests: Int, accepted: Int)] {
    tokens.map { counts(of: $0) }
  }
}

/// A token of 64 hex digits that is nothing but a number.
package func paddedHex(_ number: Int) -> String {
  let digits = String(number, radix: 16)
  return String(repeating: "0", count: 64 - digits.count) + digits
}
