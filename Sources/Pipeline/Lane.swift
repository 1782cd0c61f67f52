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

/// One thread, one event loop, everything a segment needs; shares nothing with other lanes.
package actor Lane {
  private static let slowPlacesInterval: Duration = .milliseconds(200)

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
  let runs: SegmentRuns
  let memory: BatchMemory
  let timers: CancellableTimers
  let board = WaitBoard()
  let retry: RetryUntilStopped
  let writer: RecordWriter
  let prepared: PreparedEvents
  let clock: ClockWatch
  private let deadLetters: DeadLetterNotes
  private let heartbeat: HeartbeatWriter
  let times: StragglerTimes
  let labels: StragglerLabels
  let bidder: SegmentBidder
  let claims: ClaimKeeper
  let delays: StragglerDelays
  let gate: StragglerGate
  var isStopping: Bool { timers.isStopped }

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
    timers = CancellableTimers(loop: loop)
    retry = RetryUntilStopped(timers: timers, log: options.log, board: board)
    writer = RecordWriter(producer: producer, retry: retry)
    runs = SegmentRuns(limits: options.limits)
    memory = BatchMemory(maximum: options.limits.batchBytes)
    let log = options.log
    redis = RedisClient(options: options.redis, loop: loop) { log.notice($0) }
    ingest = IngestStage(options: options.ingest)
    expand = ExpandStage(redis: redis, keyspace: options.keyspace, options: options.expand)
    render = RenderStage(templates: options.templates)
    deliver = DeliverStage(options: options.deliver, tokens: options.providerTokens, loop: loop)
    record = RecordStage(redis: redis, keyspace: options.keyspace, options: options.record)
    prepared = PreparedEvents(render: render, maximum: options.limits.places)
    clock = ClockWatch(options: options, loop: loop, ingest: ingest, record: record, retry: retry)
    deadLetters = DeadLetterNotes(options: options, ingest: ingest, record: record, retry: retry)
    times = StragglerTimes(delay: options.straggleDelay, wallClock: options.deliver.wallClock)
    labels = StragglerLabels(
      options: options, ingest: ingest, render: render, deliver: deliver, times: times)
    bidder = SegmentBidder(options: options, loop: loop, lane: index, expand: expand)
    claims = ClaimKeeper(
      options: options, loop: loop, record: record, redis: redis, retry: retry, clock: clock,
      labels: labels, runs: runs)
    delays = StragglerDelays(
      options: options, loop: loop, writer: writer, labels: labels, times: times)
    gate = StragglerGate(
      options: options, deliver: deliver, labels: labels, times: times, delays: delays)
    heartbeat = HeartbeatWriter(options: options, loop: loop, record: record, clock: clock)
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

  /// Renews every claim now and then until the lane stops.
  private func renewClaims() {
    guard !isStopping else { return }
    Task { await claims.renew() }
    loop.schedule(after: options.claimLifetime / 3) { [weak self] in
      self?.assumeIsolated { $0.renewClaims() }
    }
  }

  /// Looks now and then, until the lane stops, for lists whose route has turned out to be slow.
  private func leaveSlowPlaces() {
    guard !isStopping else { return }
    runs.leavePlaces { deliver.yields($0) }
    loop.schedule(after: Self.slowPlacesInterval) { [weak self] in
      self?.assumeIsolated { $0.leaveSlowPlaces() }
    }
  }

  /// Gives up on what is in flight: calls of `run` return `.notDone`. The claims are released, so
  /// that another worker need not wait for their end.
  package func stop() async {
    timers.stop()
    for run in runs.all { run.progress.abandon() }
    deliver.stop()
    await claims.releaseAll()
    redis.close()
  }

  /// Lets the thread end. Nothing runs on the lane afterwards.
  package nonisolated func end() { loop.stop() }

  /// Pushes waiting for a stream, streams in flight and open connections: for the heartbeat.
  package func vitals() -> LaneVitals {
    LaneVitals(
      ready: deliver.readyCount, inFlight: deliver.inFlight,
      connections: deliver.openConnections, lingering: runs.lingering,
      waitsFor: board.all,
      obstacles: deliver.obstacles.map { "\($0)" })
  }

  package func noteDeadLetter(_ message: KafkaMessage, _ error: IngestError) async -> Bool {
    await deadLetters.take(message, error)
  }

  /// Adds to the statistics what they do not know yet of the dead letters.
  func countDeadLetters() async { await deadLetters.count() }

  /// Beats now and at every interval, until the lane stops. One lane does it for the worker.
  func startHeartbeat(_ beat: Heartbeat) {
    guard !isStopping else { return }
    Task { await heartbeat.write(beat) }
    loop.schedule(after: options.heartbeatInterval) { [weak self] in
      self?.assumeIsolated { $0.startHeartbeat(beat) }
    }
  }
}
