import Deliver
import EventLoop
import Kafka
import Render
import Spans
import Telemetry
import Threads

/// A whole worker: the pump and its lanes. Start it, let it run, drain it.
package final class Worker: Sendable {
  private let options: PipelineOptions
  private let lanes: [Lane]
  private let pump: KafkaPump
  private let producer: any RecordProducer
  package let counters: WorkerCounters
  private let files: FileWatch
  private let spans: SpanExporter?
  /// For the last commit, for leaving the group and for what the producer still has, together: a
  /// stopping worker waits no longer for Kafka.
  private static let closeTimeout: Duration = .seconds(3)
  /// At most, for stragglers to be written and segments to be settled: thousands of records, on a
  /// machine that may be busy with everything else that stops.
  private static let leavingTimeout: Duration = .seconds(5)
  private let stopping = ThreadLock<Task<Bool, Never>?>(nil)

  /// Makes all the parts; nothing connects yet but librdkafka's own threads.
  package init(options: PipelineOptions) throws(KafkaError) {
    self.options = options
    let log = options.log
    let counters = WorkerCounters()
    self.counters = counters
    let producer = try options.clients.producer(options.kafka) { log.kafka($0) }
    self.producer = producer
    let spans = options.spans.map {
      SpanExporter(
        $0, queue: SpanQueue(counters: counters), log: log, loop: options.makeLoop("spans"),
        randomFraction: options.randomFraction)
    }
    self.spans = spans
    let lanes = (0..<options.lanes).map {
      Lane(
        index: $0, options: options, producer: producer, counters: counters, spans: spans?.queue)
    }
    self.lanes = lanes
    files = FileWatch(options: options, counters: counters) { templates in
      let render = RenderStage(templates: templates)
      for lane in lanes { lane.use(render) }
    }
    pump = try KafkaPump(
      options: options, lanes: lanes, producer: producer, counters: counters,
      sendLetter: { letter throws(KafkaError) in
        _ = try await producer.send(
          topic: options.ingest.deadLettersTopic, key: letter.key, value: letter.value,
          headers: letter.headers)
      })
  }

  /// Connects. Waits for whatever is down.
  package func start() async throws {
    // Without it the first record to a topic waits a second for the topic's metadata.
    try producer.prepare(
      topics: [
        options.ingest.segmentsTopic, options.ingest.bulkTopic,
        options.ingest.stragglersTopic, options.ingest.deadLettersTopic,
      ] + [options.ingest.tokensTopic, options.ingest.outcomesTopic].compactMap(\.self),
      spread: [options.ingest.segmentsTopic, options.ingest.bulkTopic], timeout: .zero)
    files.start()
    await spans?.start()
    for lane in lanes { await lane.start() }
    try await pump.start()
    let beat = Heartbeat(options: options, lanes: lanes, pump: pump, counters: counters)
    await lanes[0].startHeartbeat(beat)
    await lanes[0].startReleases()
    await lanes[0].namePermissions()
    options.log.info(
      "worker started",
      [
        "worker": .text(options.workerID), "version": .text(options.version),
        "lanes": .integer(options.lanes),
      ])
  }

  /// Looks at once whether templates or credentials have changed, and uses what it finds. Returns
  /// before it has.
  package func reload() { files.lookNow() }

  /// Returns when each `reload` that was called before has looked.
  package func awaitReload() async { await files.awaitLook() }

  /// The worker's metrics, now. Waits for each of its threads, and so for one that is stuck.
  package func metrics() async -> PrometheusText {
    WorkerMetrics.text(
      await WorkerFigures.take(options, lanes, pump, counters), isStopping: isStopping)
  }

  /// The most that the batches of one lane took: the part of `MemoryBudget` that depends on Apple.
  package func mostBatchBytes() async -> Int {
    var most = 0
    for lane in lanes { most = max(most, await lane.figures().mostBatchBytes) }
    return most
  }

  /// Returns when each of the worker's threads has done something.
  package func tick() async {
    await pump.loop.answers()
    for lane in lanes { await lane.loop.answers() }
  }

  /// Each thing without which the worker can do nothing, and what is wrong with it, in words.
  package func health() async -> [HealthPart] {
    await WorkerFigures.take(options, lanes, pump, counters).health(isStopping: isStopping)
  }

  private var isStopping: Bool { stopping.withLock { $0 != nil } }

  /// Takes nothing new, waits for what is in flight, commits, leaves the group and ends all
  /// threads. Returns whether all that was begun is done; what is not will be done again by another
  /// worker. Called again it says the same.
  @discardableResult
  package func stop() async -> Bool {
    let task = stopping.withLock { known in
      let task = known ?? Task { await self.stopOnce() }
      known = task
      return task
    }
    return await task.value
  }

  /// Waits for what is in flight. The end of that time is for leaving in good order: what a few
  /// silent streams keep from settling would be sent again as a whole.
  private func drain() async -> Bool {
    let leaving = min(options.drainTimeout / 2, Self.leavingTimeout)
    if await pump.drain(timeout: .zero) { return true }
    for lane in lanes { await lane.stopWaiting() }
    if await pump.drain(timeout: options.drainTimeout - leaving) { return true }
    guard leaving > .zero else { return false }
    for lane in lanes { await lane.leave() }
    if await pump.drain(timeout: leaving / 2) { return true }
    for lane in lanes { await lane.leaveInFlight() }
    return await pump.drain(timeout: leaving / 2)
  }

  private func stopOnce() async -> Bool {
    options.log.notice("stopping: taking no new work")
    files.stop()
    let isDone = await drain()
    await pump.giveUpDeadLetters()
    for lane in lanes { await lane.stop() }
    let left = await pump.close(timeout: Self.closeTimeout)
    producer.close(timeout: max(left, .zero))
    // Behind the last commit: a collector that is slow keeps no partition from the others.
    await spans?.stop()
    // Records that the lanes gave up come back, before their threads end under it.
    _ = await pump.drain(timeout: .seconds(1))
    pump.end()
    for lane in lanes { lane.end() }
    options.log.notice("stopped", ["everything_done": .bool(isDone)])
    return isDone
  }
}
