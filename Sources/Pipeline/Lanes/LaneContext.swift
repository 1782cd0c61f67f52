import Deliver
import EventLoop
import Expand
import Ingest
import Kafka
import Record
import Redis
import Render
import Spans
import Telemetry

/// The common parts of a lane: its loop, its five stages, the Redis that two of them share, and its
/// ways to wait for Redis and to write to Kafka. Confined to its lane.
final class LaneContext {
  let index: Int
  let options: PipelineOptions
  let loop: EventLoop
  let counters: WorkerCounters
  let redis: RedisClient
  let redisRoundTrips = RedisRoundTrips()
  let ingest: IngestStage
  let expand: ExpandStage
  /// With the templates that work which begins now gets.
  var render: RenderStage
  let deliver: DeliverStage
  let record: RecordStage
  let timers: CancellableTimers
  let board = WaitBoard()
  let retry: RetryUntilStopped
  let writer: RecordWriter
  let endings: FanOutEndings
  let tap: LaneTap
  let spans: LaneSpans
  private(set) lazy var outcomes = OutcomeWriter(self)

  init(
    index: Int, options: PipelineOptions, loop: EventLoop, producer: any RecordProducer,
    counters: WorkerCounters, spans: SpanQueue? = nil
  ) {
    self.index = index
    self.options = options
    self.loop = loop
    self.counters = counters
    let log = options.log
    redis = RedisClient(
      options: options.redis, loop: loop, separatesBulk: true, log: { log.notice($0) },
      random: options.randomFraction)
    redis.whenDone = { [redisRoundTrips] in redisRoundTrips.observe(nanoseconds: $0, $1?.code) }
    ingest = IngestStage(options: options.ingest)
    expand = ExpandStage(redis: redis, keyspace: options.keyspace, options: options.expand)
    render = RenderStage(templates: options.templates)
    deliver = DeliverStage(
      options: options.deliver, credentials: options.credentials, loop: loop,
      randomNumber: options.randomNumber)
    record = RecordStage(redis: redis, keyspace: options.keyspace, options: options.record)
    timers = CancellableTimers(loop: loop)
    var retry = RetryUntilStopped(
      timers: timers, log: log, randomFraction: options.randomFraction, board: board)
    retry.isExpired = { $0.isExpired(at: options.wallClock()) }
    retry.distrust = { [redis] in redis.distrust(over: $0) }
    self.retry = retry
    writer = RecordWriter(loop: loop, producer: producer, retry: retry)
    endings = FanOutEndings(log: log)
    tap = LaneTap(
      loop: loop, record: record, counters: counters, worker: options.workerID,
      wallClock: options.wallClock)
    self.spans = LaneSpans(spans, ingest: options.ingest, now: options.wallClock)
  }

  /// ms since 1970.
  var now: Int64 { options.wallClock() }
  var log: Log { options.log }
}

/// The slot of a lane that a record takes, until it is released or the record is done. Confined to
/// its lane.
final class LaneSlot {
  private var whenReleased: (() -> Void)?

  init(_ whenReleased: @escaping () -> Void) { self.whenReleased = whenReleased }

  var isHeld: Bool { whenReleased != nil }

  /// Gives the slot to the next record; only the first call does.
  func release() {
    whenReleased?()
    whenReleased = nil
  }
}

/// How long Redis took to answer a lane, and how often it did not. Confined to its lane.
final class RedisRoundTrips {
  private(set) var times = Histogram.answerTimes
  private(set) var failures = 0

  /// - Parameter failure: why there are no answers. One that is too large is no fault of Redis',
  ///   and a lane that stops closes its connection itself.
  func observe(nanoseconds: UInt64, _ failure: RedisError.Code?) {
    switch failure {
    case nil: times.observe(nanoseconds: nanoseconds)
    case .closed, .replyTooLarge, .invalidUse: return
    default: failures += 1
    }
  }
}
