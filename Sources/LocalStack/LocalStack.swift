import Devices
import EventLoop
import Kafka
import Keyspace
import Processes
import Record
import Redis
import ServerProcesses
import Telemetry
import Terminal
import Text

/// A worker and everything that it needs around it, on this machine: redis-server, the embedded
/// Kafka broker, a simulator of each platform. Confined to the loop of its processes.
package final class LocalStack {
  /// The app that the devices belong to.
  package static let app = "com.example.live"
  /// The key of a plain set begins with it; the streamer's id follows.
  package static let plainSetPrefix = "plain-followers:"

  /// A fan-out that stands still for so long is given up.
  private static let stallLimit: Duration = .seconds(60)
  private static let pollInterval: Duration = .milliseconds(20)
  private static let warmUpTopic = "fanfare.warm-up"

  package let processes: ChildProcesses
  /// In the order of the platforms that it was started with; at least one.
  package let simulators: [SimulatorProcess]
  package let redis: RedisClient
  package let keyspace = Keyspace()
  package let redisOptions: RedisOptions
  private let redisProcesses: [Int32]
  package let bootstrapServers: String
  private let record: RecordStage
  private let producer: KafkaProducer
  private let file: WorkerFile
  /// The path of the worker's configuration.
  package let configuration: String
  /// The first is the one whose CPU and memory are asked for.
  private var workers: [RunProcess] = []
  private var workersStarted = 0

  private init(
    processes: ChildProcesses, redisOptions: RedisOptions, redisProcesses: [Int32],
    bootstrapServers: String, platforms: [LocalPlatform], simulators: [SimulatorProcess],
    templates: String, lanes: Int, more: String
  ) throws(LocalRunError) {
    self.processes = processes
    self.redisOptions = redisOptions
    self.redisProcesses = redisProcesses
    self.bootstrapServers = bootstrapServers
    self.simulators = simulators
    var sections: [String] = []
    for (platform, simulator) in zip(platforms, simulators) {
      sections.append(try platform.section(simulator))
    }
    file = WorkerFile(
      bootstrapServers: bootstrapServers, redis: redisOptions, platforms: sections,
      templates: templates, lanes: lanes, more: more)
    configuration = try processes.directory.write(file.text, to: "fanfare.yaml")
    redis = RedisClient(options: redisOptions, loop: processes.loop, log: { _ in })
    record = RecordStage(redis: redis, keyspace: keyspace)
    var options = KafkaOptions(bootstrapServers: bootstrapServers)
    options.clientID = "fanfare-demo"
    // As whoever emits one event would.
    options.linger = .zero
    do {
      producer = try KafkaProducer(options, log: { _ in })
    } catch {
      throw LocalRunError(.unavailable, "\(error)")
    }
    redis.start()
  }

  /// Starts everything but the worker.
  /// - Parameters:
  ///   - platforms: those that the worker sends to, each with a simulator of its own.
  ///   - kafka: in place of an embedded broker; nobody else may use its topics.
  ///   - cluster: in place of a redis-server.
  ///   - place: where the servers are; nil: on free ports, and Redis keeps nothing.
  package static func start(
    _ processes: ChildProcesses, templates: String, lanes: Int,
    platforms: [LocalPlatform] = [.apns()], kafka: RealKafka? = nil,
    cluster: RedisClusterProcess? = nil, place: Place? = nil
  ) async throws(LocalRunError) -> LocalStack {
    var options = RedisOptions(commandTimeout: .seconds(30))
    var servers: [Int32] = []
    if let cluster {
      options.clusterNodes = cluster.endpoints
      servers = cluster.masters.compactMap(\.processID)
    } else {
      let redis = try await LocalServers.redis(
        processes, fixed: place.map { ($0.redisPort, $0.redisDirectory) })
      options.port = redis.port
      servers = [redis.process.processID]
    }
    let broker: String
    if let kafka {
      try makeTopics(kafka)
      broker = kafka.bootstrapServers
    } else {
      broker = try await LocalServers.broker(processes, port: place?.kafkaPort ?? 0)
    }
    var simulators: [SimulatorProcess] = []
    for platform in platforms {
      simulators.append(
        try await LocalServers.simulator(
          of: platform.service, processes, options: platform.simulatorFlags))
    }
    let stack = try LocalStack(
      processes: processes, redisOptions: options, redisProcesses: servers,
      bootstrapServers: broker, platforms: platforms, simulators: simulators,
      templates: templates, lanes: lanes, more: place?.sections ?? "")
    try await stack.warmUp()
    return stack
  }

  /// That of the first platform.
  package var simulator: SimulatorProcess { simulators[0] }

  private static func makeTopics(_ kafka: RealKafka) throws(LocalRunError) {
    do {
      try kafka.createTopics(
        LocalServers.topics.map { ($0.name, $0.partitions) } + [(warmUpTopic, 1)],
        as: KafkaOptions(bootstrapServers: kafka.bootstrapServers))
    } catch {
      throw LocalRunError(.unavailable, "\(error)")
    }
  }

  /// The first record of a producer waits for its connections; no event should.
  private func warmUp() async throws(LocalRunError) {
    do {
      _ = try await producer.send(topic: Self.warmUpTopic, key: nil, value: [])
    } catch {
      throw LocalRunError(.unavailable, "\(error)")
    }
  }

  /// Ends our own connections. The processes ends the processes.
  package func close() {
    redis.close()
    producer.close(timeout: .zero)
  }

  /// Returns when it has gone the whole way once, with an event of a streamer who has follower
  /// shards and no followers: librdkafka takes a second to read its first record of a topic, and
  /// another to write it.
  /// - Parameter sections: of the configuration of this worker alone, with a line break at the end.
  package func startWorker(adding sections: String = "") async throws(LocalRunError) {
    let id = workers.isEmpty ? "worker" : "worker-\(workers.count + 1)"
    var configuration = configuration
    if !sections.isEmpty {
      var own = file
      own.more += sections
      configuration = try processes.directory.write(own.text, to: "\(id)-\(workersStarted).yaml")
    }
    workers.append(try await LocalServers.worker(processes, configuration: configuration, id: id))
    workersStarted += 1
    try await seed(streamer: "nobody", followers: 0, expected: 3 * Keyspace.targetShardFollowers) {
      AudienceRow(user: "\($0)", profile: [], bindings: [], boundAt: 0)
    }
    let event = GoLiveEvent(id: "warm-up-\(workersStarted)", streamer: "nobody")
    _ = try await emit(event)
    _ = try await settled(event)
  }

  /// Starts more beside those that run, until there are as many; each has partitions then.
  package func startWorkers(upTo count: Int) async throws(LocalRunError) {
    while workers.count < count { try await startWorker() }
  }

  /// Lets the workers finish and end.
  package func stopWorker() async throws(LocalRunError) {
    while let worker = workers.popLast() {
      try await processes.stop(worker, within: .seconds(30))
    }
  }

  /// The worker's memory and CPU time, as long as it runs.
  package func workerUsage() throws(LocalRunError) -> ProcessUsage {
    guard let worker = workers.first, let usage = ProcessUsage.of(worker.processID) else {
      throw LocalRunError(.failed, "the worker's CPU time and memory cannot be read from /proc")
    }
    return usage
  }

  /// The CPU time of each Redis server so far, in nanoseconds.
  package func redisCPU() throws(LocalRunError) -> [UInt64] {
    var times: [UInt64] = []
    for process in redisProcesses {
      guard let time = ProcessUsage.cpuNanoseconds(of: process) else {
        throw LocalRunError(.failed, "the CPU time of Redis cannot be read from /proc")
      }
      times.append(time)
    }
    return times
  }

  /// Writes the event and returns when, in microseconds since 1970, that was begun.
  package func emit(_ event: GoLiveEvent) async throws(LocalRunError) -> Int64 {
    let emittedAt = WallClock.nowMicroseconds()
    let value = Array(event.json(occurredAt: emittedAt / 1_000).serialized().utf8)
    do {
      _ = try await producer.send(
        topic: "notify-followers", key: Array(event.streamer.utf8), value: value)
    } catch {
      throw LocalRunError(.unavailable, "\(error)")
    }
    return emittedAt
  }

  package func status(of event: String) async throws(LocalRunError) -> FanOutStatus? {
    do {
      return try await record.status(of: event)
    } catch {
      throw LocalRunError(.unavailable, "\(error)")
    }
  }

  /// Waits until the event's fan-out has come to its end. Fails when it stands still.
  /// - Parameter progress: called with each look at its counters.
  package func settled(
    _ event: GoLiveEvent, progress: (FanOutStatus) -> Void = { _ in }
  ) async throws(LocalRunError) -> FanOutStatus {
    var last: FanOutStatus?
    var changedAt = processes.loop.now
    while true {
      try processes.checkpoint()
      let status = try await status(of: event.id)
      if status != last { changedAt = processes.loop.now }
      last = status
      if let status {
        progress(status)
        if status.state != .running, status.state != .unknown { return status }
      }
      guard processes.loop.now < changedAt + Self.stallLimit.nanoseconds else {
        let settled = status.map {
          "\($0.settled) of \($0.segments + $0.stragglers) segments are settled, "
            + "\($0.waiting) pushes wait for another try"
        }
        throw LocalRunError(
          .failed,
          "the fan-out has stood still for \(DurationText.text(Self.stallLimit)): "
            + (settled ?? "the worker has not opened it"))
      }
      await processes.loop.wait(Self.pollInterval)
    }
  }

  /// The fan-outs that began last, the latest first.
  package func recentFanOuts(atMost limit: Int) async throws(LocalRunError) -> [KnownFanOut] {
    do {
      return try await record.recentFanOuts(atMost: limit)
    } catch {
      throw LocalRunError(.unavailable, "\(error)")
    }
  }

  /// Whether the streamer has followers that `seed` wrote, or a verb.
  package func hasFollowers(_ streamer: String) async throws(LocalRunError) -> Bool {
    do {
      return try await AudienceSharding(redis: redis, keyspace: keyspace).hasShards(streamer)
    } catch {
      throw LocalRunError(.unavailable, "\(error)")
    }
  }

  package func deadLetters() async throws(LocalRunError) -> Int {
    let replies = try await send(RedisPipeline(["HGET", keyspace.statsTotal, "dead_letters"]))
    return replies[0].decimal.map { Int($0) } ?? 0
  }

  package func send(_ commands: RedisPipeline) async throws(LocalRunError) -> RedisReplies {
    do {
      return try await redis.execute(commands)
    } catch {
      throw LocalRunError(.unavailable, "\(error)")
    }
  }
}

extension LocalStack {
  /// Rows between two looks at the clock and at signals.
  private static let rowsPerLook = 1_000

  /// Writes followers of a streamer, made one by one.
  /// - Parameters:
  ///   - expected: followers that the shards are made for, when those are more.
  ///   - progress: called with the rows written so far, now and then.
  package func seed(
    streamer: String, followers: Int, expected: Int = 0, progress: (Int) -> Void = { _ in },
    row: (Int) -> AudienceRow
  ) async throws(LocalRunError) {
    let writer = AudienceWriter(redis: redis, keyspace: keyspace)
    do throws(DevicesError) {
      try await writer.begin(streamer: streamer, expectedFollowers: max(followers, expected))
    } catch {
      throw LocalRunError(.unavailable, "\(error)")
    }
    for index in 0..<followers {
      if index % Self.rowsPerLook == 0 {
        try processes.checkpoint()
        progress(index)
      }
      do throws(DevicesError) {
        try await writer.append(row(index))
      } catch {
        throw LocalRunError(.unavailable, "\(error)")
      }
    }
    do throws(DevicesError) {
      try await writer.finish()
    } catch {
      throw LocalRunError(.unavailable, "\(error)")
    }
    progress(followers)
  }
}

extension LocalStack {
  /// Where a stack that stays has its servers, and what its configuration says beside them.
  package struct Place {
    let redisPort: Int
    /// Of Redis' files, in the directory of the run.
    let redisDirectory: String
    let kafkaPort: Int
    /// Sections of the configuration for other processes than a worker, each with a line break at
    /// its end.
    let sections: String

    package init(redisPort: Int, redisDirectory: String, kafkaPort: Int, sections: String) {
      self.redisPort = redisPort
      self.redisDirectory = redisDirectory
      self.kafkaPort = kafkaPort
      self.sections = sections
    }
  }
}
