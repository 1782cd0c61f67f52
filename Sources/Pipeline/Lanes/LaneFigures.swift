import Deliver
import Redis
import Telemetry

/// How a lane is at the moment: for heartbeat and metrics.
package struct LaneFigures: Sendable {
  package let ready: Int
  package let inFlight: Int
  package let connections: Int
  /// Pushes that may be in flight on those.
  let streamLimit: Int
  /// Segments that it has claimed, and those of them that have a place.
  let claims: Int
  let places: Int
  /// The ids of the events that it has segments of.
  let fanOuts: Set<String>
  /// Segments whose pushes were all tried and are not all settled.
  package let lingering: Int
  /// Bytes that the batches of pushes under way took at most since the lane began.
  let mostBatchBytes: Int
  /// How far the clock was ahead of Redis' when they were compared last, in ms; less than 0:
  /// behind.
  let clockAhead: Int64
  /// Dependencies that are waited for.
  let waitsFor: [DependencyWait]
  /// Why there is no connection on which Redis has answered, whether or not anybody waits for it.
  let redisTrouble: String?
  /// What pushes cannot pass.
  package let obstacles: [RouteObstacle]
  /// Limits of pushes a second that hold up pushes, in words.
  package let limits: [String]
  /// Since the lane began: how long Apple took to answer, and how old events were when they were
  /// read.
  package let answerTimes: Histogram
  package let eventAges: Histogram
  /// Of fan-outs that the lane saw the end of.
  let fanOutTimes: Histogram
  let firstPushTimes: Histogram
  /// Since the lane began: connections that opened and ended, what Apple answered, and what of that
  /// it does not document.
  let connectionCounts: ConnectionCounts
  let answerCounts: AnswerCounts
  let unknownAnswers: UnknownAnswers
  /// Since the lane began: how long Redis took to answer, and how often it did not.
  let redisTimes: Histogram
  let redisFailures: Int
  /// Connections to Redis that were there and broke.
  let brokenRedisConnections: Int
  /// Nil where everything is read from masters.
  package let replicas: RedisReplicaFigures?
}
