import EventLoop
import Ingest
import Kafka
import Telemetry

/// The one thread that polls Kafka: hands records to lanes as they have room, commits what is done,
/// pauses what nobody has room for. Polling never stops, so that the group keeps its member however
/// long a fan-out takes. Owns the loop and joins what works on it.
package actor KafkaPump {
  /// Offsets are committed this often when there is something to commit: what a crash repeats
  /// besides what was in flight.
  private static let commitInterval: Duration = .milliseconds(200)

  private let options: PipelineOptions
  let loop: EventLoop
  private let lanes: [any RecordRunner]
  private let producer: any RecordProducer
  private let counters: WorkerCounters
  let consumer: any GroupConsumer
  var dispatch: RecordDispatch
  let commits: OffsetCommits
  let revocation: Revocation
  let deadLetters: DeadLetters
  let waiters: DrainWaiters
  private let health: KafkaHealth
  let readiness: GroupReadiness
  private let startLog: FanOutStartLog
  private let times: StragglerTimes
  let polling: KafkaPolling
  private var losses: RecordLosses
  let absence: ClockAbsence
  var isClosed = false
  /// When Kafka was polled last, to a tenth of a second, in ms since 1970.
  private(set) var lastPoll: Int64 = 0

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  package init(
    options: PipelineOptions, lanes: [any RecordRunner], producer: any RecordProducer,
    counters: WorkerCounters,
    sendLetter: @escaping @Sendable (DeadLetter) async throws(KafkaError) -> Void
  ) throws(KafkaError) {
    self.options = options
    self.lanes = lanes
    self.producer = producer
    self.counters = counters
    let loop = options.makeLoop("kafka")
    self.loop = loop
    deadLetters = DeadLetters(options: options, loop: loop, counters: counters, send: sendLetter)
    dispatch = RecordDispatch(options.ingest, lanes: lanes.count, limits: options.limits)
    let log = options.log
    consumer = try options.clients.consumer(options.kafka, dispatch.topics) { log.kafka($0) }
    consumer.asksBeforeRevoke = true
    polling = KafkaPolling(consumer: consumer, loop: loop)
    commits = OffsetCommits(consumer: consumer, counters: counters, log: log)
    revocation = Revocation(loop: loop, timeout: options.revokeTimeout)
    waiters = DrainWaiters(loop: loop)
    health = KafkaHealth(options: options)
    readiness = GroupReadiness(options: options)
    losses = RecordLosses(log: log, ingest: options.ingest, topics: dispatch.topics)
    absence = ClockAbsence(options: options, loop: loop, consumer: consumer)
    startLog = FanOutStartLog(log: log)
    times = StragglerTimes(delay: options.straggleDelay, wallClock: options.wallClock)
  }

  package func start() throws {
    commits.start()
    try polling.start { [weak self] polled in
      self?.assumeIsolated { $0.handle(polled) }
    } everyInterval: { [weak self] in
      self?.assumeIsolated { $0.everyInterval() }
    }
    repeats(every: Self.commitInterval) { $0.commits.commit() }
    repeats(every: options.heartbeatInterval) {
      $0.consumer.measureLag()
      $0.compareClocks()
    }
  }

  private func compareClocks() {
    guard absence.obstacle != nil else { return }
    Task {
      if let ahead = await lanes[0].clockAhead() { absence.compared(ahead: ahead) }
    }
  }

  package var inFlight: Int { dispatch.running.count }
  package var partitions: Int { dispatch.partitions }
  /// Records that wait to be asked about again: other workers have claimed their segments, or their
  /// template is not loaded.
  package var retries: Int { dispatch.retries }
  /// Records of our partitions that are not committed yet, as Kafka said last.
  package var lag: [KafkaPartition: Int64] { consumer.lag }
  /// By topic: records that Kafka threw away before anybody had read them.
  var skipped: [String: Int] { losses.counts }
  /// Dependencies that are waited for.
  var waitsFor: [DependencyWait] {
    let own: [(DependencyWait.Cause, String?)] = [
      (.kafka, health.obstacle), (.clock, absence.obstacle),
    ]
    return own.compactMap { cause, text in text.map { DependencyWait(cause: cause, text: $0) } }
      + deadLetters.waitsFor
  }

  // MARK: what Kafka says

  private func everyInterval() {
    lastPoll = options.wallClock()
    perform(dispatch.wake(now: loop.now))
    if partitions == 0, !dispatch.isDraining { readiness.sayThatWeWait(now: loop.now) }
    if let error = producer.fatalError { health.check(error) }
    recoverLost()
  }

  private func recoverLost() {
    guard !dispatch.isDraining, let lostAt = losses.begin(now: loop.now) else { return }
    Task {
      let delay = await lanes[0].recoverSegments(lostAt: lostAt)
      for gap in losses.ended(lostAt, again: delay, now: loop.now) { commits.ended(gap) }
    }
  }

  private func skipped(_ partition: KafkaPartition, _ offsets: Range<Int64>) {
    losses.note(partition, offsets, now: loop.now)
    guard losses.holdsSegments(partition.topic),
      let number = commits.began(partition, gapAt: offsets.lowerBound)
    else { return }
    losses.block(partition, offsets.lowerBound, number, now: loop.now)
  }

  /// Does something now and at every interval, until the pump is closed.
  private func repeats(
    every interval: Duration, _ work: @escaping @Sendable (isolated KafkaPump) -> Void
  ) {
    guard !isClosed else { return }
    work(self)
    loop.schedule(after: interval) { [weak self] in
      self?.assumeIsolated { $0.repeats(every: interval, work) }
    }
  }

  func handle(_ polled: KafkaPoll) {
    switch polled {
    case .message(let message): received(message)
    case .end(let partition, let end):
      if !dispatch.isDraining { commits.reachedEnd(partition, end) }
    case .skipped(let partition, let offsets): skipped(partition, offsets)
    case .assigned(let partitions): assigned(partitions)
    case .revoking(let partitions): finishBeforeRevoke(partitions)
    case .revoked(let partitions): revoked(partitions, .kafkaRevocations)
    case .lost(let partitions): revoked(partitions, .kafkaLosses)
    case .committed(let offsets): commits.succeeded(offsets)
    case .commitFailed(let failed, let error): commits.failed(Array(failed.keys), error)
    case .error(let error): options.log.warning("Kafka", ["error": .text("\(error)")])
    case .reachable: break
    }
    health.observe(polled)
  }

  private func received(_ message: KafkaMessage) {
    guard !dispatch.isDraining, let kind = dispatch.kind(ofTopic: message.topic),
      let number = commits.began(message)
    else { return }
    guard !dispatch.join(message, number: number) else { return }
    let record = Intake.Record(
      message: message, number: number,
      notBefore: kind == .straggler ? times.due(message, now: loop.now) : 0)
    perform(dispatch.received(record, kind, now: loop.now))
  }

  // MARK: partitions

  private func assigned(_ partitions: [KafkaPartition]) {
    counters.add(.kafkaAssignments)
    commits.assigned(partitions)
    perform(dispatch.assigned(partitions))
    options.log.info("partitions assigned", ["count": .integer(self.partitions)])
    if !dispatch.isDraining, self.partitions > 0 { readiness.begin() }
  }

  /// Takes nothing more of these and gives them back when what was begun is done: the next owner
  /// then begins where we ended.
  private func finishBeforeRevoke(_ partitions: [KafkaPartition]) {
    let revoking = Set(partitions)
    consumer.pause(partitions)
    dispatch.revoked(revoking)
    deadLetters.forget(revoking)
    revocation.begin(revoking) { [weak self] in self?.assumeIsolated { $0.giveUpRevoked() } }
    giveUpRevokedWhenDone()
  }

  private func giveUpRevokedWhenDone() {
    if revocation.isDone(dispatch.running) { giveUpRevoked() }
  }

  private func giveUpRevoked() {
    guard revocation.end() else { return }
    consumer.giveUpRevoked()
    polling.poll()
  }

  /// Segments in flight go on under their claims; their offsets are another member's now.
  private func revoked(_ partitions: [KafkaPartition], _ counter: WorkerCounter) {
    counters.add(counter)
    commits.revoked(partitions)
    let gone = Set(partitions)
    revocation.revoked(gone)
    dispatch.revoked(gone)
    deadLetters.forget(gone)
    if self.partitions == 0 { readiness.end() }
    options.log.info("partitions revoked", ["count": .integer(partitions.count)])
    // Partitions that were paused for their records' sake go on.
    dispatchAll()
  }

  // MARK: records

  func dispatchAll() { perform(dispatch.beginWaiting(now: loop.now)) }

  func perform(_ steps: [RecordDispatch.Step]) {
    for step in steps {
      switch step {
      case .pause(let partitions): consumer.pause(partitions)
      case .resume(let partitions): consumer.resume(partitions)
      case .begin(let run): begin(run)
      }
    }
  }

  private func begin(_ identifier: Int) {
    guard let run = dispatch.running[identifier] else { return }
    startLog.begins(run)
    let lane = lanes[run.lane]
    Task(executorPreference: lane.taskExecutor) {
      let receipt = await lane.run(run.message, run.kind) {
        Task { await self.slotReleased(identifier) }
      }
      await self.finished(identifier, receipt)
    }
  }

  private func slotReleased(_ identifier: Int) {
    dispatch.releaseSlot(identifier)
    dispatchAll()
  }

  private func finished(_ identifier: Int, _ receipt: Receipt) {
    if case .deadLetter(let error) = receipt { return writeDeadLetter(identifier, error) }
    if let run = dispatch.end(identifier) { end(run, receipt) }
    goOn()
  }

  private func end(_ run: RunningRecords.Run, _ receipt: Receipt) {
    switch receipt {
    case .done: commits.finished(run)
    case .again(let delay): askAgain(run, after: delay)
    // It was left to another worker; but its partition has come back meanwhile, and its record
    // joined what was about to end.
    case .notDone: askAgain(run, after: .zero)
    case .notHere(let ahead, let why):
      if !dispatch.isDraining { absence.begin(ahead: ahead, why) }
    case .deadLetter: return
    }
  }

  /// Of a partition that was taken away the record comes again, to whoever has it now.
  private func askAgain(_ run: RunningRecords.Run, after delay: Duration) {
    guard commits.awaits(run) else { return }
    dispatch.scheduleRetry(run, until: loop.now &+ delay.nanoseconds)
  }

  /// Something has ended, or releases its slot.
  private func goOn() {
    dispatchAll()
    giveUpRevokedWhenDone()
    if isDrained { waiters.resume() }
  }

  /// The record keeps its slot while it is written, so that no more of them are on their way than
  /// lanes have slots. Its offset waits for the letter and for the event's note of it, so that none
  /// is lost. A worker that reads the record again, after a crash or because its partition changed
  /// hands before an earlier record was done, writes the letter again.
  private func writeDeadLetter(_ identifier: Int, _ error: IngestError) {
    guard let run = dispatch.running[identifier] else { return }
    Task {
      let isWritten = await deadLetters.write(run.message, error) { [weak self] in
        self?.assumeIsolated { $0.block(identifier) }
      }
      let isNoted =
        isWritten ? await lanes[run.lane].noteDeadLetter(run.message, error) : false
      // A partition that was blocked goes on now, not before the note: without a slot, each of its
      // records might come to wait for one.
      perform(dispatch.unblock(run))
      finished(identifier, isNoted ? .done : .notDone)
    }
  }

  private func block(_ identifier: Int) {
    perform(dispatch.block(identifier))
    goOn()
  }
}

/// The end of a pump: nothing new is taken, what is done is committed, and the group is left.
extension KafkaPump {
  /// Of the time to close, what the last commit may take: the rest is for leaving the group.
  private static let commitShare = 0.75

  /// Nothing is in flight but what waits for the dead letters.
  var isDrained: Bool { dispatch.running.count <= deadLetters.waitingCount }

  /// Takes nothing new and waits for what is in flight as long as `timeout`. Returns whether all
  /// that was begun is done. May be called again: after the lanes have stopped nothing stays in
  /// flight. Records that wait for the dead letters are not waited for.
  package func drain(timeout: Duration) async -> Bool {
    let steps = dispatch.drain()
    readiness.end()
    absence.stop()
    perform(steps)
    if !isDrained { await waiters.wait(atMost: timeout) }
    return dispatch.running.isEmpty
  }

  /// Records that the dead letters do not take stay for another worker: a lane that has stopped
  /// could not note them.
  func giveUpDeadLetters() { deadLetters.stop() }

  /// Commits what is done and leaves the group, so that others take over at once. Waits for Kafka
  /// for at most `timeout`: what was not committed is read again and found done.
  /// - Returns: how much of that time is left.
  @discardableResult
  package func close(timeout: Duration) -> Duration {
    guard !isClosed else { return timeout }
    isClosed = true
    polling.stop()
    giveUpDeadLetters()
    let began = loop.clock
    let left = { [loop] in timeout - .nanoseconds(Int64(clamping: loop.clock &- began)) }
    commits.commitLast(timeout: timeout * Self.commitShare)
    consumer.close(timeout: left())
    polling.close()
    return left()
  }

  /// Lets the thread end. Nothing runs on the pump afterwards.
  package nonisolated func end() { loop.stop() }
}

/// Says once of each large fan-out that this worker has a part in it: its own, another's, or one
/// that was under way before a restart. Confined to the pump's loop.
final class FanOutStartLog {
  private let log: Log
  private var recent = RecentEvents()

  init(log: Log) { self.log = log }

  func begins(_ run: RunningRecords.Run) {
    guard run.kind == .segment || run.kind == .bulk,
      let event = SegmentRecord.event(ofKey: run.message.key),
      recent.isNew(event)
    else { return }
    log.info(
      "fan-out taken up: this worker has segments of it",
      .of(
        event, EventOrigin(ofSegment: run.message.headers).trace,
        ["first": .text(run.message.place)]))
  }
}

/// The events that a worker has had to do with last, so that it names each once and not once a
/// segment. A pure machine.
struct RecentEvents {
  /// Far more than are under way at a time; one that comes back later is named again.
  static let capacity = 256

  private var order: [String] = []
  private var known: Set<String> = []

  /// Whether the event was not known; it is now.
  mutating func isNew(_ event: String) -> Bool {
    guard known.insert(event).inserted else { return false }
    order.append(event)
    if order.count > Self.capacity { known.remove(order.removeFirst()) }
    return true
  }
}

/// Tasks that wait for the work in flight to end. Confined to the pump's loop.
final class DrainWaiters {
  private let loop: EventLoop
  private var waiters: [CheckedContinuation<Void, Never>] = []

  init(loop: EventLoop) { self.loop = loop }

  var isEmpty: Bool { waiters.isEmpty }

  /// Returns when `resume` is called, after `timeout` at the latest.
  func wait(atMost timeout: Duration) async {
    let deadline = loop.schedule(after: timeout) { [weak self] in self?.resume() }
    await withCheckedContinuation { waiters.append($0) }
    deadline.cancel()
  }

  func resume() {
    let resumed = waiters
    waiters = []
    for continuation in resumed { continuation.resume() }
  }
}
