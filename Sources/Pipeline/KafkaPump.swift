import EventLoop
import Ingest
import Kafka
import Telemetry

/// The one thread that polls Kafka: hands records to lanes as they have room, commits what is done,
/// pauses what nobody has room for. Polling never stops, so that the group keeps its member however
/// long a fan-out takes.
package actor KafkaPump {
  private let options: PipelineOptions
  private let loop: EventLoop
  private let lanes: [Lane]
  private let consumer: KafkaConsumer
  private let counters: WorkerCounters
  private var loads: LaneLoads
  private var offsets = OffsetLedger()
  private var events: Intake
  private var segments: Intake
  private var isDraining = false
  private var isClosed = false
  private var isReady = false
  private var hasNews = false
  private var waker: LoopWaker?
  private var drained: [CheckedContinuation<Void, Never>] = []
  /// Records that wait for the dead letters, of partitions that are ours or were.
  private var stuck = 0

  /// Offsets are committed this often when there is something to commit: what a crash repeats
  /// besides what was in flight.
  private static let commitInterval: Duration = .milliseconds(200)
  /// A poll at least this often, whatever the wake-ups say: it is what keeps us in the group.
  private static let pollInterval: Duration = .milliseconds(100)

  /// For the last commit, and again for leaving the group: a stopping worker waits no longer for
  /// Kafka.
  private static let closeTimeout: Duration = .seconds(5)

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  package init(
    options: PipelineOptions, lanes: [Lane], counters: WorkerCounters
  ) throws(KafkaError) {
    self.options = options
    self.lanes = lanes
    self.counters = counters
    loop = EventLoop(name: "kafka")
    let log = options.log
    consumer = try KafkaConsumer(
      options.kafka, topics: [options.ingest.eventsTopic, options.ingest.segmentsTopic]
    ) { line in log.kafka(line) }
    loads = LaneLoads(
      lanes: lanes.count, eventPlaces: options.eventsPerLane,
      segmentPlaces: options.segmentsPerLane)
    events = Intake(kind: .event, topic: options.ingest.eventsTopic)
    segments = Intake(kind: .segment, topic: options.ingest.segmentsTopic)
  }

  package func start() throws {
    consumer.offsetsToCommitOnRevoke = { [weak self] _ in
      self?.assumeIsolated { $0.offsets.takeCommittable() } ?? [:]
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

  package var inFlight: Int { loads.inFlight }
  package var partitions: Int { events.partitions.count + segments.partitions.count }

  // MARK: polling

  private func everyPollInterval() {
    guard !isClosed else { return }
    poll()
    loop.schedule(after: Self.pollInterval) { [weak self] in
      self?.assumeIsolated { $0.everyPollInterval() }
    }
  }

  private func poll() {
    guard !isClosed else { return }
    // Bounded per turn; the wake-up is asked for again when there was more.
    for _ in 0..<64 {
      guard let polled = consumer.poll(timeout: .zero) else { return }
      handle(polled)
    }
    waker?.wake()
  }

  private func handle(_ polled: KafkaPoll) {
    switch polled {
    case .message(let message): received(message)
    case .assigned(let partitions): assigned(partitions)
    case .revoked(let partitions), .lost(let partitions): revoked(partitions)
    case .committed: return
    case .commitFailed(let failed, let error):
      // The next commit covers it again; should none come, the settled marks know what was done.
      offsets.commitFailed(Array(failed.keys))
      hasNews = true
      options.log.warning("offsets not committed", ["error": .text("\(error)")])
    case .error(let error):
      options.log.warning("Kafka", ["error": .text("\(error)")])
    }
  }

  private func received(_ message: KafkaMessage) {
    guard !isDraining else { return }
    if message.topic == events.topic {
      events.append(message)
    } else {
      segments.append(message)
    }
    dispatchAll()
  }

  private func assigned(_ partitions: [KafkaPartition]) {
    offsets.assigned(partitions)
    consumer.pause(events.assigned(partitions) + segments.assigned(partitions))
    options.log.info("partitions assigned", ["count": .integer(self.partitions)])
    if isDraining { pauseAll() }
    if !isReady, self.partitions > 0 {
      isReady = true
      options.whenReady()
    }
  }

  /// What is in flight goes on; its offsets are another member's now.
  private func revoked(_ partitions: [KafkaPartition]) {
    offsets.revoked(partitions)
    let gone = Set(partitions)
    events.revoked(gone)
    segments.revoked(gone)
    options.log.info("partitions revoked", ["count": .integer(partitions.count)])
    // What was paused for their records' sake goes on.
    dispatchAll()
  }

  // MARK: dispatching

  private func dispatchAll() {
    guard !isDraining else { return }
    dispatch(&events)
    dispatch(&segments)
  }

  private func dispatch(_ intake: inout Intake) {
    while intake.waiting > 0, let lane = loads.take(intake.kind) {
      guard let message = intake.next() else {
        loads.giveBack(intake.kind, lane: lane)
        break
      }
      begin(message, intake.kind, lane)
    }
    let change = intake.balance()
    consumer.pause(change.pause)
    consumer.resume(change.resume)
  }

  private func begin(_ message: KafkaMessage, _ kind: WorkKind, _ lane: Int) {
    guard let assignment = offsets.began(message.source, message.offset) else {
      loads.giveBack(kind, lane: lane)
      return
    }
    Task {
      let receipt = await lanes[lane].run(message, kind)
      finished(message, kind, lane, receipt, assignment)
    }
  }

  private func finished(
    _ message: KafkaMessage, _ kind: WorkKind, _ lane: Int, _ receipt: Receipt, _ assignment: Int
  ) {
    loads.giveBack(kind, lane: lane)
    switch receipt {
    case .done:
      offsets.finished(message.source, message.offset, assignment)
      hasNews = true
    case .notDone: break
    case .stuck(let burial):
      let record = Intake.Stuck(
        partition: message.source, offset: message.offset, assignment: assignment)
      hold(record, burial, kind, lane)
    }
    dispatchAll()
    if loads.inFlight == 0 { resumeDrained() }
  }

  /// The record keeps its offset from being committed, but no place of a lane.
  private func hold(_ record: Intake.Stuck, _ burial: Burial, _ kind: WorkKind, _ lane: Int) {
    stuck += 1
    consumer.pause(kind == .event ? events.block(record) : segments.block(record))
    Task {
      let receipt = await lanes[lane].bury(burial)
      stuck -= 1
      guard receipt == .done else { return }
      offsets.finished(record.partition, record.offset, record.assignment)
      hasNews = true
      consumer.resume(kind == .event ? events.unblock(record) : segments.unblock(record))
      dispatchAll()
    }
  }

  // MARK: committing

  private func everyCommitInterval() {
    guard !isClosed else { return }
    commit()
    loop.schedule(after: Self.commitInterval) { [weak self] in
      self?.assumeIsolated { $0.everyCommitInterval() }
    }
  }

  private func commit() {
    guard hasNews else { return }
    hasNews = false
    let committable = offsets.takeCommittable()
    if !committable.isEmpty { consumer.commit(committable) }
  }

  // MARK: stopping

  /// Takes nothing new and waits for what is in flight as long as `timeout`. Returns whether all
  /// that was begun is done. May be called again: after the lanes have stopped nothing stays in
  /// flight.
  package func drain(timeout: Duration) async -> Bool {
    isDraining = true
    pauseAll()
    if loads.inFlight > 0 {
      let deadline = loop.schedule(after: timeout) { [weak self] in
        self?.assumeIsolated { $0.resumeDrained() }
      }
      await withCheckedContinuation { drained.append($0) }
      deadline.cancel()
    }
    return loads.inFlight == 0 && stuck == 0
  }

  /// Commits what is done and leaves the group, so that others take over at once.
  package func close() {
    guard !isClosed else { return }
    isClosed = true
    do {
      try consumer.commitNow(offsets.takeCommittable(), timeout: Self.closeTimeout)
    } catch {
      options.log.warning("last commit failed", ["error": .text("\(error)")])
    }
    consumer.close(timeout: Self.closeTimeout)
    waker?.close()
  }

  /// Lets the thread end. Nothing runs on the pump afterwards.
  package nonisolated func end() { loop.stop() }

  private func pauseAll() { consumer.pause(events.drain() + segments.drain()) }

  private func resumeDrained() {
    let resumed = drained
    drained = []
    for continuation in resumed { continuation.resume() }
  }
}
