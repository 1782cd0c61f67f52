import APNs
import Deliver
import EventLoop
import Expand
import Fixtures
import Ingest
import Kafka
import Keyspace
import Record
import Redis
import Telemetry
import Testing
import Threads

@testable import Pipeline

/// A pump on the embedded broker, whose groups take seconds to form, with one lane that does
/// what the test says.
final class PumpBed: Sendable {
  static let topic = IngestOptions().eventsTopic

  let broker: EmbeddedBroker
  let lane = HeldLane()
  let letters = RefusedLetters()
  let pump: KafkaPump
  let counters = WorkerCounters()
  let sink = MemorySink()
  private let said = Failures()
  private let producer: KafkaProducer
  private let loop = EventLoop(name: "bed")

  private init(
    partitions: Int, revokeTimeout: Duration, eventsPerLane: Int
  ) throws {
    let ingest = IngestOptions()
    broker = try EmbeddedBroker(
      topics: [(ingest.eventsTopic, partitions)]
        + [ingest.segmentsTopic, ingest.bulkTopic, ingest.stragglersTopic].map { ($0, 1) })
    let kafka = Self.kafka(broker)
    producer = try KafkaProducer(kafka) { _ in }
    var options = Self.options(kafka, sink)
    options.whenFailed = { [said] in said.append($0) }
    options.revokeTimeout = revokeTimeout
    options.limits.events = eventsPerLane
    pump = try KafkaPump(
      options: options, lanes: [lane], producer: producer, counters: counters,
      sendLetter: { [letters] letter async throws(KafkaError) in try await letters.take(letter) })
  }

  static func options(_ kafka: KafkaOptions, _ sink: MemorySink) -> PipelineOptions {
    PipelineOptions(
      workerID: "worker-1", version: "test", lanes: 1, kafka: kafka, ingest: IngestOptions(),
      redis: RedisOptions(), keyspace: Keyspace(), expand: ExpandOptions(),
      record: RecordOptions(), deliver: DeliverOptions(wallClock: { 0 }), templates: [],
      credentials: AppCredentials(
        APNsCredentials.key(
          ProviderTokenSource(
            key: ProviderKey(keyID: "", teamID: "") { $0 }, lifetime: .seconds(3000),
            monotonic: { 0 }))),
      log: Log(LogOptions(level: .debug, format: .json), sink: sink),
      randomNumber: { .random(in: .min ... .max) },
      processUsage: { .own() }, processStartTime: ProcessUsage.ownStartTime)
  }

  /// What the worker was told to end for.
  var failures: [String] { said.all }

  private static func kafka(_ broker: EmbeddedBroker) -> KafkaOptions {
    var options = KafkaOptions(bootstrapServers: broker.bootstrapServers)
    options.sessionTimeout = .seconds(6)
    // By a heartbeat a member learns that another one has joined; who is late joins again.
    options.heartbeatInterval = .milliseconds(500)
    // The embedded broker may drop who joins without a word: so long it is waited for.
    options.pollIntervalMaximum = .seconds(20)
    options.properties = ["socket.timeout.ms": "20000"]
    options.fetchWaitMaximum = .milliseconds(10)
    return options
  }

  /// Runs `body` with a pump and ends everything afterwards, whatever happened.
  static func run(
    partitions: Int = 1, revokeTimeout: Duration = .seconds(5), eventsPerLane: Int = 16,
    _ body: (PumpBed) async throws -> Void
  ) async throws {
    let bed = try PumpBed(
      partitions: partitions, revokeTimeout: revokeTimeout, eventsPerLane: eventsPerLane)
    do {
      try await body(bed)
    } catch {
      await bed.end()
      throw error
    }
    await bed.end()
  }

  /// As a worker that has waited long enough. May be repeated.
  func stop() async {
    _ = await pump.drain(timeout: .zero)
    lane.stop()
    await pump.close(timeout: .seconds(5))
    _ = await pump.drain(timeout: .seconds(5))
  }

  private func end() async {
    await stop()
    producer.close(timeout: .seconds(1))
    pump.end()
    loop.stop()
  }

  /// One record for each partition.
  func send(_ partitions: Int32...) async throws {
    for partition in partitions {
      _ = try await producer.send(
        topic: Self.topic, partition: partition, key: nil, value: Array("\(partition)".utf8))
    }
  }

  static func place(_ partition: Int32, _ offset: Int64) -> HeldLane.Place {
    HeldLane.Place(KafkaPartition(topic: topic, partition: partition), offset)
  }

  /// Another member of the group, which reads the events only.
  func member() throws -> KafkaConsumer {
    let options = Self.kafka(broker)
    let consumer = try KafkaConsumer(options, topics: [Self.topic]) { _ in }
    try consumer.subscribe()
    return consumer
  }

  /// The offset of the first record that the next owner of `partition` is given, when this one has
  /// stopped.
  func successor(of partition: Int32) async throws -> Int64? {
    await stop()
    try await send(partition)
    let consumer = try member()
    defer { consumer.close(timeout: .seconds(2)) }
    return try await first(consumer, partition)?.offset
  }

  func first(_ consumer: KafkaConsumer, _ partition: Int32) async throws -> KafkaMessage? {
    var found: KafkaMessage?
    try await until("a record of partition \(partition)") {
      if case .message(let message) = consumer.poll(), message.partition == partition {
        found = message
      }
      return found != nil
    }
    return found
  }

  /// Of two partitions, the one that `member` has when the pump has the other. A member that the
  /// embedded broker dropped without a word joins again, and the other has both meanwhile.
  func partition(of member: KafkaConsumer) async throws -> Int32 {
    var partition: Int32?
    try await until("each has one partition", polling: member) {
      let theirs = member.assignment.map(\.partition)
      let ours = await pump.eventPartitions
      guard let one = theirs.first, theirs == [one], ours == [1 - one] else { return false }
      partition = one
      return true
    }
    return try #require(partition)
  }

  /// Asks again every 5 ms, 90 seconds at most; `member` is polled meanwhile.
  func until(
    _ what: String, polling member: KafkaConsumer? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
  ) async throws {
    let actor = LoopActor(loop)
    let deadline = ContinuousClock.now + .seconds(90)
    while try await !condition() {
      if ContinuousClock.now >= deadline {
        Issue.record(
          "waited for: \(what)\n\(await standing(with: member))", sourceLocation: sourceLocation)
        throw CancellationError()
      }
      while member?.poll() != nil {}
      await actor.wait(.milliseconds(5))
    }
  }

  /// Who has what, and what was logged last.
  private func standing(with member: KafkaConsumer?) async -> String {
    let theirs = member.map { "; another has \($0.assignment)" } ?? ""
    let lines = sink.lines.suffix(40).joined(separator: "\n")
    return "the pump has \(await pump.eventPartitions)\(theirs); begun \(lane.begun)\n\(lines)"
  }
}

extension KafkaPump {
  fileprivate var eventPartitions: [Int32] {
    consumer.assignment.filter { $0.topic == PumpBed.topic }.map(\.partition)
  }
}

/// The dead letters, which take nothing while a test says so.
final class RefusedLetters: Sendable {
  private struct State {
    var isRefusing = false
    var isSilent = false
    var unanswered: [CheckedContinuation<Void, Never>] = []
    var taken: [DeadLetter] = []
  }

  private let state = ThreadLock(State())

  func refuse(_ isRefusing: Bool) { state.withLock { $0.isRefusing = isRefusing } }

  var taken: [DeadLetter] { state.withLock { $0.taken } }

  /// Does not answer before `fail` is called.
  func beSilent() { state.withLock { $0.isSilent = true } }

  var unanswered: Int { state.withLock { $0.unanswered.count } }

  /// What had no answer fails; whatever comes from now on is taken.
  func fail() {
    let unanswered = state.withLock { state in
      state.isSilent = false
      defer { state.unanswered = [] }
      return state.unanswered
    }
    for continuation in unanswered { continuation.resume() }
  }

  func take(_ letter: DeadLetter) async throws(KafkaError) {
    if state.withLock({ $0.isSilent }) {
      await withCheckedContinuation { continuation in
        state.withLock { $0.unanswered.append(continuation) }
      }
      throw KafkaError(code: .timedOut, message: "the dead letters do not answer")
    }
    let isTaken = state.withLock { state in
      if !state.isRefusing { state.taken.append(letter) }
      return !state.isRefusing
    }
    if !isTaken { throw KafkaError(code: .authorization, message: "the dead letters refuse") }
  }
}

private final class Failures: Sendable {
  private let texts = ThreadLock<[String]>([])
  func append(_ text: String) { texts.withLock { $0.append(text) } }
  var all: [String] { texts.withLock { $0 } }
}
