import Deliver
import EventLoop
import Expand
import Ingest
import Record
import Redis
import Render
import Telemetry

/// The five stages of a lane, and the Redis that two of them share. Confined to its lane.
struct LaneStages {
  let redis: RedisClient
  let redisRoundTrips = RedisRoundTrips()
  let ingest: IngestStage
  let expand: ExpandStage
  let render: RenderStage
  let deliver: DeliverStage
  let record: RecordStage

  init(options: PipelineOptions, loop: EventLoop) {
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
