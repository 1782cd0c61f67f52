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
  /// Another worker, or another run, has the segment's claim: hand the record in again later.
  case again(after: Duration)
  /// No try will make it better: it belongs to the dead letters, with this reason. Its offset must
  /// not be committed before it is there.
  case hopeless(IngestError)
}

/// A list of stragglers that is let through to ask whether its route is open.
struct Probe: Hashable {
  let route: PushRoute
  /// All its pushes were refused before.
  let isRefused: Bool
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
  var runs: [ObjectIdentifier: SegmentRun] = [:]
  var lastRun = 0
  var readAheadCredit: ReadAheadCredit
  let memory: BatchMemory
  let timers: CancellableTimers
  let board = WaitBoard()
  /// Records in the dead letters that the statistics do not know of yet, by the code of the reason.
  var uncounted: [String: Int] = [:]
  /// Of the lines on clocks that differ, one of which a minute names an event.
  var nextClockLine: UInt64 = 0
  var hasNamedEventOfClock = false
  /// Lists of stragglers of closed routes that are worked on.
  var probing: [Probe: Int] = [:]
  /// Bytes of the lists of stragglers of slow environments that are worked on.
  var slowly: [APNsEnvironment: Int] = [:]
  /// Records on their way to the end of the stragglers' topic.
  var puttingOff = 0
  /// Records that wait in the pump for a last try.
  var lastTries = 0
  /// Of the heartbeat, which one lane gives.
  var hasBeaten = false
  var nextNamesakeLine: UInt64 = 0
  let index: Int
  var isStopping: Bool { timers.isStopped }

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  package init(
    index: Int, options: PipelineOptions, producer: KafkaProducer, counters: WorkerCounters
  ) {
    self.index = index
    self.options = options
    self.producer = producer
    self.counters = counters
    let loop = EventLoop(name: "lane-\(index)")
    self.loop = loop
    timers = CancellableTimers(loop: loop)
    // What may be under way at a time, so that a burst of new events waits for no credit.
    readAheadCredit = ReadAheadCredit(maximum: options.limits.events)
    memory = BatchMemory(maximum: options.limits.batchBytes)
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
    Task { await prepareScripts() }
    deliver.start()
    renewClaims()
    leaveSlowPlaces()
  }

  private func prepareScripts() async { await record.prepare() }

  /// Gives up on what is in flight: calls of `run` return `.notDone`. The claims are released, so
  /// that another worker need not wait for their end.
  package func stop() async {
    timers.stop()
    for run in runs.values { run.progress.abandon() }
    deliver.stop()
    await releaseClaims()
    redis.close()
  }

  /// Lets the thread end. Nothing runs on the lane afterwards.
  package nonisolated func end() { loop.stop() }

  /// Pushes waiting for a stream, streams in flight and open connections: for the heartbeat.
  package func vitals() -> LaneVitals {
    LaneVitals(
      ready: deliver.readyCount, inFlight: deliver.inFlight,
      connections: deliver.openConnections, lingering: runs.values.count(where: \.isLingering),
      waitsFor: board.all,
      obstacles: deliver.obstacles.map { "\($0)" })
  }

  var retry: RetryUntilStopped { RetryUntilStopped(timers: timers, log: options.log, board: board) }

  func preparedEvent(_ event: Event) throws(RenderError) -> PreparedEvent {
    if let index = prepared.lastIndex(where: { $0.event.id == event.id && $0.event == event }) {
      return prepared[index]
    }
    let fresh = try render.prepare(event)
    // As many as can be in flight; the oldest goes.
    if prepared.count >= options.limits.places { prepared.removeFirst() }
    prepared.append(fresh)
    return fresh
  }
}

package struct LaneVitals: Sendable {
  package let ready: Int
  package let inFlight: Int
  package let connections: Int
  /// Segments whose pushes were all tried and are not all settled.
  package let lingering: Int
  /// Dependencies that are waited for, in words.
  package let waitsFor: [String]
  /// What pushes cannot pass, in words.
  package let obstacles: [String]
}
