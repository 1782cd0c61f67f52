import EventLoop
import Ingest
import Kafka
import Telemetry

/// The one thread that polls Kafka: hands records to lanes as they have room, commits what is done,
/// pauses what nobody has room for. Polling never stops, so that the group keeps its member however
/// long a fan-out takes.
package actor KafkaPump {
  let options: PipelineOptions
  let loop: EventLoop
  let lanes: [any RecordRunner]
  let consumer: KafkaConsumer
  let producer: KafkaProducer
  let counters: WorkerCounters
  var loads: LaneLoads
  var offsets = OffsetLedger()
  /// By `WorkKind.rawValue`.
  var intakes: [Intake]
  var running = RunningRecords()
  /// Partitions that the group wants back and that we keep until their runs are done.
  var revoking: Set<KafkaPartition> = []
  var revokeDeadline: LoopTimer?
  var isDraining = false
  var isClosed = false
  var isReady = false
  var hasNews = false
  var hasFailed = false
  /// No broker can be reached.
  var isKafkaAway = false
  var waker: LoopWaker?
  var drained: [CheckedContinuation<Void, Never>] = []
  let deadLetters: DeadLetters
  /// Records that wait for the dead letters, of partitions that are ours or were.
  var held = 0
  var nextWaitingLine: UInt64 = 0
  var recentEvents = RecentEvents()

  /// Offsets are committed this often when there is something to commit: what a crash repeats
  /// besides what was in flight.
  static let commitInterval: Duration = .milliseconds(200)
  /// A poll at least this often, whatever the wake-ups say: it is what keeps us in the group.
  static let pollInterval: Duration = .milliseconds(100)

  /// A group takes its time to form, or has no partition left for us: an operator is told.
  static let waitingLineInterval: Duration = .seconds(5)

  /// Of the time to close, what the last commit may take: the rest is for leaving the group.
  static let commitShare = 0.75

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  package init(
    options: PipelineOptions, lanes: [any RecordRunner], producer: KafkaProducer,
    counters: WorkerCounters,
    sendLetter: @escaping @Sendable (DeadLetter) async throws(KafkaError) -> Void
  ) throws(KafkaError) {
    self.options = options
    self.lanes = lanes
    self.producer = producer
    self.counters = counters
    let loop = EventLoop(name: "kafka")
    self.loop = loop
    deadLetters = DeadLetters(options: options, loop: loop, send: sendLetter)
    let log = options.log
    let ingest = options.ingest
    intakes = [
      Intake(kind: .event, topic: ingest.eventsTopic),
      Intake(kind: .segment, topic: ingest.segmentsTopic),
      Intake(kind: .straggler, topic: ingest.stragglersTopic),
    ]
    consumer = try KafkaConsumer(options.kafka, topics: intakes.map(\.topic)) { line in
      log.kafka(line)
    }
    consumer.asksBeforeRevoke = true
    loads = LaneLoads(
      lanes: lanes.count, eventPlaces: options.limits.events,
      segmentPlaces: options.limits.segments, stragglerPlaces: options.limits.stragglers)
  }

  package func start() throws {
    consumer.offsetsToCommitOnRevoke = { [weak self] _ in
      self?.assumeIsolated { $0.offsets.takeCommittable(all: true) } ?? [:]
    }
    let waker = try LoopWaker(loop: loop) { [weak self] in
      self?.assumeIsolated { $0.poll() }
    }
    self.waker = waker
    consumer.wake(descriptor: waker.descriptor)
    try consumer.subscribe()
    everyPollInterval()
    everyCommitInterval()
  }

  package var inFlight: Int { running.count }
  package var partitions: Int { intakes.reduce(0) { $0 + $1.partitions.count } }
  /// Records whose segments other workers have claimed.
  package var aside: Int { intakes.reduce(0) { $0 + $1.asideCount } }

  // MARK: polling

  func everyPollInterval() {
    guard !isClosed else { return }
    poll()
    wakeRested()
    sayThatWeWait()
    if let error = producer.fatalError { fail(error) }
    loop.schedule(after: Self.pollInterval) { [weak self] in
      self?.assumeIsolated { $0.everyPollInterval() }
    }
  }

  func poll() {
    guard !isClosed else { return }
    // Bounded per turn; the wake-up is asked for again when there was more.
    for _ in 0..<64 {
      guard let polled = consumer.poll(timeout: .zero) else { return }
      handle(polled)
    }
    waker?.wake()
  }

  func handle(_ polled: KafkaPoll) {
    switch polled {
    case .message(let message): received(message)
    case .assigned(let partitions): assigned(partitions)
    case .revoking(let partitions): finishBeforeRevoke(partitions)
    case .revoked(let partitions), .lost(let partitions): revoked(partitions)
    case .committed: counters.add(.kafkaCommits)
    case .commitFailed(let failed, let error):
      // The next commit covers it again; should none come, the settled marks know what was done.
      counters.add(.kafkaCommitFailures)
      offsets.commitFailed(Array(failed.keys))
      hasNews = true
      options.log.warning("offsets not committed", ["error": .text("\(error)")])
      if error.isFatal { fail(error) }
    case .error(let error):
      options.log.warning("Kafka", ["error": .text("\(error)")])
      if error.isFatal { fail(error) }
    case .reachable(let isReachable): reaches(isReachable)
    }
  }

  /// Nothing comes in and nothing is committed meanwhile; whoever sends waits for himself.
  func reaches(_ isReachable: Bool) {
    let waited = isKafkaAway
    isKafkaAway = !isReachable
    if isKafkaAway {
      options.log.warning(
        "waiting for Kafka: no broker can be reached",
        ["servers": .text(options.kafka.bootstrapServers)])
    } else if waited {
      options.log.notice("Kafka can be reached again")
    }
  }

  /// Dependencies that are waited for, in words.
  package var waitsFor: [String] {
    let broker = "kafka: no broker of \(options.kafka.bootstrapServers) can be reached"
    return (isKafkaAway ? [broker] : []) + deadLetters.waitsFor
  }

  /// A client that is beyond repair consumes nothing and says nothing more: the process ends, and
  /// whoever runs it starts another.
  func fail(_ error: KafkaError) {
    guard !hasFailed else { return }
    hasFailed = true
    options.log.error("the Kafka client cannot go on", ["error": .text("\(error)")])
    options.whenFailed("\(error)")
  }

  func received(_ message: KafkaMessage) {
    guard !isDraining, let intake = intakes.firstIndex(where: { $0.topic == message.topic }),
      let number = offsets.began(message.source, message.offset)
    else { return }
    guard !running.join(message, number: number) else { return }
    let record = Intake.Record(
      message: message, number: number, notBefore: notBefore(message, intakes[intake].kind))
    consumer.pause(intakes[intake].append(record, now: loop.now))
    dispatchAll()
  }

  /// Workers' clocks differ: a record rests no longer than the delay of its topic.
  func notBefore(_ message: KafkaMessage, _ kind: WorkKind) -> UInt64 {
    guard kind == .straggler, let due = StragglerLabel(message).notBefore else { return 0 }
    let wait = Duration.milliseconds(max(due - options.deliver.wallClock(), 0))
    return loop.now &+ min(wait, options.straggleDelay).nanoseconds
  }

  func assigned(_ partitions: [KafkaPartition]) {
    offsets.assigned(partitions)
    for index in intakes.indices { consumer.pause(intakes[index].assigned(partitions)) }
    options.log.info("partitions assigned", ["count": .integer(self.partitions)])
    if isDraining { pauseAll() }
    if !isReady, !isDraining, self.partitions > 0 {
      isReady = true
      options.whenReady()
    }
  }

  func noLongerReady() {
    guard isReady else { return }
    isReady = false
    options.whenUnready()
  }

  func sayThatWeWait() {
    guard partitions == 0, !isDraining, loop.now >= nextWaitingLine else { return }
    if nextWaitingLine > 0 {
      options.log.info("waiting for partitions", ["group": .text(options.kafka.group)])
    }
    nextWaitingLine = loop.now &+ Self.waitingLineInterval.nanoseconds
  }
}
