import Deliver
import EventLoop
import Expand
import Ingest
import Kafka
import Keyspace
import Model
import Record
import Redis
import Render
import Telemetry

/// What the pump may do with a record's offset.
package enum Receipt: Sendable, Equatable {
  /// Settled and recorded: the offset may be committed.
  case done
  /// The worker stopped before the record was done: its offset must not be committed.
  case notDone
  /// It must go to the dead letters, and they take nothing now: hand it to `bury` again. Its offset
  /// must not be committed before.
  case stuck(Burial)
}

/// A dead letter on its way.
package struct Burial: Error, Sendable, Equatable {
  let letter: DeadLetter
  /// The record's place in Kafka.
  let place: String
  let error: IngestError
}

/// One thread, one event loop, everything a segment needs; shares nothing with other lanes.
package actor Lane {
  let options: PipelineOptions
  let loop: EventLoop
  let producer: KafkaProducer
  let ingest: IngestStage
  let expand: ExpandStage
  let render: RenderStage
  let deliver: DeliverStage
  let record: RecordStage
  let redis: RedisClient
  let counters: WorkerCounters
  /// Fan-outs that this lane works on: a template is joined with its event once, not once a
  /// segment.
  private var prepared: [PreparedEvent] = []
  private var inProgress: [ObjectIdentifier: SegmentProgress] = [:]
  let waits: StoppableWaits
  var isStopping: Bool { waits.isStopped }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  package init(
    index: Int, options: PipelineOptions, producer: KafkaProducer, counters: WorkerCounters
  ) {
    self.options = options
    self.producer = producer
    self.counters = counters
    let loop = EventLoop(name: "lane-\(index)")
    self.loop = loop
    waits = StoppableWaits(loop: loop)
    let log = options.log
    redis = RedisClient(options: options.redis, loop: loop) { log.notice($0) }
    ingest = IngestStage(options: options.ingest)
    expand = ExpandStage(redis: redis, keyspace: options.keyspace, options: options.expand)
    render = RenderStage(templates: options.templates)
    deliver = DeliverStage(options: options.deliver, tokens: options.providerTokens, loop: loop)
    record = RecordStage(redis: redis, keyspace: options.keyspace, options: options.record)
  }

  /// Connects to Redis and APNs; both wait for the other side as long as it takes.
  package func start() {
    redis.start()
    deliver.start()
  }

  /// Gives up on what is in flight: calls of `run` return `.notDone`.
  package func stop() {
    waits.stop()
    for progress in inProgress.values { progress.abandon() }
    deliver.stop()
    redis.close()
  }

  /// Lets the thread end. Nothing runs on the lane afterwards.
  package nonisolated func end() { loop.stop() }

  /// Pushes waiting for a stream, streams in flight and open connections: for the heartbeat.
  package func vitals() -> LaneVitals {
    LaneVitals(
      ready: deliver.readyCount, inFlight: deliver.inFlight,
      connections: deliver.openConnections)
  }

  var patience: Patience { Patience(waits: waits, log: options.log) }

  // MARK: a segment: expand → render → deliver → record

  /// Does one segment from its followers to its counters.
  func process(_ segment: Segment) async throws {
    let event = try preparedEvent(segment.event)
    let tally = SegmentTally()
    let progress = SegmentProgress()
    let identity = ObjectIdentifier(progress)
    inProgress[identity] = progress
    defer { inProgress[identity] = nil }
    let reader = expand.reader(for: segment, fields: event.fieldNames, topic: event.event.app)
    while let page = try await nextPage(reader, tally) {
      let rendering = render.batches(
        of: page, for: event, tally: tally, maximumPushes: options.batchPushes)
      if segment.event.isExpired(at: options.deliver.wallClock()) {
        rendering.settleRest(as: .expired)
        continue
      }
      while let batch = rendering.next() {
        progress.watch(batch)
        await deliver.admit(batch)
        await progress.roomForMore()
        guard !isStopping else { throw Patience.Stopped() }
      }
    }
    await progress.allSettled()
    guard progress.isSettled else { throw Patience.Stopped() }
    try await settle(segment, tally)
  }

  private func nextPage(
    _ reader: SegmentReader, _ tally: SegmentTally
  ) async throws -> RecipientPage? {
    do {
      return try await patience.persist(
        "Redis has the followers", isTransient: { (error: ExpandError) in error.isTransient },
        call: { () async throws(ExpandError) in try await reader.next() })
    } catch let error as ExpandError {
      // What stands at the key is no follower shard. Waiting mends nothing: the segment ends here.
      tally.skipped += 1
      options.log.error("followers skipped", ["error": .text("\(error)")])
      return nil
    }
  }

  private func settle(_ segment: Segment, _ tally: SegmentTally) async throws {
    let settlement = try await patience.persist(
      "Redis takes the counters", isTransient: { (error: RecordError) in error.isTransient },
      call: { () async throws(RecordError) in
        try await record.settle(segment, tally, now: options.deliver.wallClock())
      })
    guard case .recorded(let settled) = settlement else {
      counters.add(.segmentsAlreadySettled)
      return
    }
    counters.count(tally, settled.findings)
    if settled.findings.withheld > 0 {
      options.log.error(
        "too many unusable tokens: is the environment or the app's topic right? None was set aside",
        ["event": .text(segment.event.id), "tokens": .integer(settled.findings.withheld)])
    }
    if settled.fanOutDone {
      options.log.info("fan-out done", ["event": .text(segment.event.id)])
    }
  }

  private func preparedEvent(_ event: Event) throws(RenderError) -> PreparedEvent {
    if let index = prepared.lastIndex(where: { $0.event.id == event.id && $0.event == event }) {
      return prepared[index]
    }
    let fresh = try render.prepare(event)
    // As many as can be in flight; the oldest goes.
    if prepared.count >= options.segmentsPerLane + options.eventsPerLane { prepared.removeFirst() }
    prepared.append(fresh)
    return fresh
  }
}

package struct LaneVitals: Sendable {
  package let ready: Int
  package let inFlight: Int
  package let connections: Int
}
