import APNsSimulator
import Devices
import Evaluation
import EventLoop
import Kafka
import Keyspace
import Record
import Redis
import Telemetry
import Terminal

/// A worker and everything that it needs around it, on this machine: redis-server, the embedded
/// Kafka broker, the simulator. Confined to its household's loop.
final class Ensemble {
  /// The app that the devices belong to.
  static let app = "com.example.live"
  /// What stands before a streamer's id in the key of a plain set.
  static let plainSetPrefix = "plain-followers:"

  let household: Household
  let simulator: SimulatorProcess
  let redis: RedisClient
  let keyspace = Keyspace()
  let redisPort: Int
  let bootstrapServers: String
  private let record: RecordStage
  private let producer: KafkaProducer
  private let configuration: String
  private var worker: ChildProcess?
  private var workersStarted = 0

  private init(
    household: Household, redisPort: Int, bootstrapServers: String, simulator: SimulatorProcess,
    templates: String, lanes: Int, closesSandbox: Bool
  ) throws(CommandFailure) {
    self.household = household
    self.redisPort = redisPort
    self.bootstrapServers = bootstrapServers
    self.simulator = simulator
    let file = WorkerFile(
      bootstrapServers: bootstrapServers, redisPort: redisPort, simulator: simulator,
      templates: templates, lanes: lanes, closesSandbox: closesSandbox)
    configuration = try household.directory.write(file.text, to: "fanfare.yaml")
    redis = RedisClient(
      options: RedisOptions(port: redisPort, commandTimeout: .seconds(30)), loop: household.loop,
      log: { _ in })
    record = RecordStage(redis: redis, keyspace: keyspace)
    var options = KafkaOptions(bootstrapServers: bootstrapServers)
    options.clientID = "fanfare-demo"
    do {
      producer = try KafkaProducer(options, log: { _ in })
    } catch {
      throw CommandFailure(error)
    }
    redis.start()
  }

  /// Starts everything but the worker.
  /// - Parameter closesSandbox: the worker's sandbox is an address where nobody listens.
  static func start(
    _ household: Household, templates: String, lanes: Int, simulatorOptions: [String] = [],
    closesSandbox: Bool = false
  ) async throws(CommandFailure) -> Ensemble {
    let redis = try await Servers.redis(household)
    let broker = try await Servers.broker(household)
    let simulator = try await Servers.simulator(household, options: simulatorOptions)
    let ensemble = try Ensemble(
      household: household, redisPort: redis.port, bootstrapServers: broker, simulator: simulator,
      templates: templates, lanes: lanes, closesSandbox: closesSandbox)
    try await ensemble.warmUp()
    return ensemble
  }

  /// The first record of a producer waits for its connections; no event should.
  private func warmUp() async throws(CommandFailure) {
    for topic in ["fanfare.warm-up"] {
      do {
        _ = try await producer.send(topic: topic, key: nil, value: [])
      } catch {
        throw CommandFailure(error)
      }
    }
  }

  /// Ends our own connections. The household ends the processes.
  func close() {
    redis.close()
    producer.close(timeout: .zero)
  }

  /// Returns when it has gone the whole way once, with an event of a streamer who has follower
  /// shards and no followers: librdkafka takes a second to read its first record of a topic, and
  /// another to write it.
  func startWorker() async throws(CommandFailure) {
    worker = try await Servers.worker(household, configuration: configuration)
    workersStarted += 1
    try await seed(streamer: "nobody", followers: 0, expected: 3 * Keyspace.targetShardFollowers) {
      AudienceRow(user: "\($0)", profile: [], bindings: [], boundAt: 0)
    }
    _ = try await FanOut.run(
      DemoEvent(id: "warm-up-\(workersStarted)", streamer: "nobody"), on: self)
  }

  /// Lets the worker finish and end.
  func stopWorker() async throws(CommandFailure) {
    guard let worker else { return }
    self.worker = nil
    try await household.stop(worker, within: .seconds(30))
  }

  /// What the operating system says of the worker, as long as it runs.
  func workerUsage() throws(CommandFailure) -> ProcessUsage {
    guard let worker, let usage = ProcessUsage.of(worker.processID) else {
      throw CommandFailure(.failed, "the worker's CPU time and memory cannot be read from /proc")
    }
    return usage
  }

  /// Writes the event and returns when, in microseconds since 1970, that was begun.
  func emit(_ event: DemoEvent) async throws(CommandFailure) -> Int64 {
    let value = Array(event.json.serialized().utf8)
    let emittedAt = APNsSimulatorOptions.wallClock()
    do {
      _ = try await producer.send(
        topic: "notify-followers", key: Array(event.streamer.utf8), value: value)
    } catch {
      throw CommandFailure(error)
    }
    return emittedAt
  }

  func status(of event: String) async throws(CommandFailure) -> FanOutStatus? {
    do {
      return try await record.status(of: event)
    } catch {
      throw CommandFailure(.unavailable, "\(error)")
    }
  }

  func deadLetters() async throws(CommandFailure) -> Int {
    let replies = try await send(
      RedisPipeline(["HGET", keyspace.statsTotal, "dead_letters"]))
    return replies[0].decimal.map { Int($0) } ?? 0
  }

  func send(_ commands: RedisPipeline) async throws(CommandFailure) -> RedisReplies {
    do {
      return try await redis.execute(commands)
    } catch {
      throw CommandFailure(error)
    }
  }
}

/// A go-live event as a live backend writes it.
struct DemoEvent {
  let id: String
  let streamer: String

  var json: JSONOutput {
    [
      "id": .text(id), "app": .text(Ensemble.app),
      "streamer": ["id": .text(streamer), "name": "Aiko"],
      "stream": ["id": "b-991", "title": "Speedrun night", "category": "Games"],
      "template": "go-live",
      "occurred_at": .text(WallClock.rfc3339(WallClock.nowMilliseconds())), "expires_in": 900,
    ]
  }
}
