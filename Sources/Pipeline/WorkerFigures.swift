import Deliver
import Expand
import Kafka
import Keyspace
import Model
import Redis
import Telemetry

/// A worker's state at one moment: for the heartbeat and for metrics.
struct WorkerFigures: Sendable {
  let version: String
  /// Versions of the libraries in use, by name.
  let libraries: [String: String]
  let lanes: Int
  /// Bytes; what `MemoryBudget` says.
  let memoryBudget: Int
  let counts: WorkerSnapshot
  let usage: ProcessUsage
  /// Of the process, in seconds since 1970.
  let startTime: Double
  let partitions: Int
  /// Records that are worked on, and those whose segments others have.
  let records: Int
  let retries: Int
  /// Records of the worker's partitions that are not committed yet, where Kafka has said so.
  let lag: [KafkaPartition: Int64]
  /// Those of `lag` whose records are segments.
  let segmentTopics: Set<String>
  /// By topic: records that Kafka threw away before anybody had read them.
  let skipped: [String: Int]
  /// When Kafka was polled last, in ms since 1970.
  let lastPoll: Int64
  /// Lines of the log.
  let log: LogStatistics
  /// Files of credentials that cannot be used as they are on disk now.
  var unfitCredentials = 0
  var credentialAges: [CredentialAge] = []
  var templateReloads = ReloadFigures()
  /// Events that the worker has segments of.
  private(set) var fanOuts: Set<String> = []
  private(set) var claims = 0
  private(set) var slots = 0
  private(set) var awaitingAnswers = 0
  private(set) var ready = 0
  /// By the platform's name; each that is known is there from the start.
  private(set) var platforms = Dictionary(
    uniqueKeysWithValues: Set(Destination.all.map(\.platform.name)).map { ($0, PlatformFigures()) })
  /// Dependencies that are waited for, each once.
  var waitsFor: [DependencyWait]
  /// Why there is no connection on which Redis has answered, in words, each once.
  private(set) var redisTroubles: [String] = []
  /// Obstacles of pushes, in words, each once.
  private(set) var obstacles: [String] = []
  /// As many of those of an environment are of a kind.
  private(set) var obstacleCounts: [RouteObstacle.Group: Int] = [:]
  /// Those of them that lead to production and cannot be reached: it is what a worker is for.
  private(set) var unreachableApple: [String] = []
  /// Those of them that are keys or tokens which Apple does not take.
  private(set) var refusedCredentials: [String] = []
  /// Limits of pushes a second that hold up pushes, in words, each once.
  private(set) var limits: [String] = []
  private(set) var eventAges = Histogram.eventAges
  private(set) var fanOutTimes = Histogram.fanOutTimes
  private(set) var firstPushTimes = Histogram.fanOutTimes
  private(set) var redisTimes = Histogram.answerTimes
  private(set) var redisFailures = 0
  private(set) var brokenRedisConnections = 0
  /// Of all replicas, as the lane that knows the least of them sees it; none while none is known.
  private(set) var replicaLag: Duration?
  /// Reads of bindings and profiles that replicas answered, and those that masters had to.
  private(set) var replicaReads = 0
  private(set) var replicaFallBacks = 0
  /// The largest of all lanes', of which one compares clocks, in ms.
  private(set) var clockAhead: Int64 = 0
  /// Seconds since 1970; nil when they do not end.
  private(set) var credentialsExpireAt: Int64?

  /// Followers of segments in the worker's partitions that are not committed yet, as if each shard
  /// were full. No whole number: whatever a broker says, it is no overflow.
  var pendingRecipients: Double {
    let records = lag.filter { segmentTopics.contains($0.key.topic) }
    return records.reduce(0) { $0 + Double($1.value) } * Double(Keyspace.targetShardFollowers)
  }

  static func take(
    _ options: PipelineOptions, _ lanes: [Lane], _ pump: KafkaPump, _ counters: WorkerCounters
  ) async -> WorkerFigures {
    var figures = WorkerFigures(
      version: options.version, libraries: options.libraries, lanes: options.lanes,
      memoryBudget: options.memoryBudget.bytes,
      counts: counters.snapshot(), usage: options.processUsage(),
      startTime: options.processStartTime, partitions: await pump.partitions,
      records: await pump.inFlight, retries: await pump.retries, lag: await pump.lag,
      segmentTopics: [options.ingest.segmentsTopic, options.ingest.bulkTopic],
      skipped: await pump.skipped,
      lastPoll: await pump.lastPoll, log: options.log.statistics,
      unfitCredentials: options.unfitCredentials(), credentialAges: options.credentialAges(),
      templateReloads: options.templateReloads(),
      waitsFor: await pump.waitsFor)
    figures.note(expiry: options.credentialsExpireAt(), now: options.wallClock())
    for lane in lanes { figures.add(await lane.figures()) }
    return figures
  }

  private mutating func add(_ lane: LaneFigures) {
    claims += lane.claims
    if abs(lane.clockAhead) > abs(clockAhead) { clockAhead = lane.clockAhead }
    fanOuts.formUnion(lane.fanOuts)
    slots += lane.slots
    awaitingAnswers += lane.awaitingAnswers
    ready += lane.ready
    for (name, figures) in lane.platforms { platforms[name, default: .init()].add(figures) }
    Self.add(lane.waitsFor, to: &waitsFor)
    Self.add(lane.redisTrouble.map { [$0] } ?? [], to: &redisTroubles)
    for obstacle in lane.obstacles where !obstacles.contains("\(obstacle)") {
      obstacles.append("\(obstacle)")
      obstacleCounts[obstacle.group, default: 0] += 1
    }
    Self.add(lane.limits, to: &limits)
    eventAges = eventAges + lane.eventAges
    fanOutTimes = fanOutTimes + lane.fanOutTimes
    firstPushTimes = firstPushTimes + lane.firstPushTimes
    redisTimes = redisTimes + lane.redisTimes
    redisFailures += lane.redisFailures
    brokenRedisConnections += lane.brokenRedisConnections
    add(lane.replicas)
    let refused = lane.obstacles.filter {
      [.noToken, .certificateExpired, .credentialsRefused, .clocksDiffer].contains($0.kind)
    }
    Self.add(refused.map { "\($0)" }, to: &refusedCredentials)
    let unreachable = lane.obstacles.filter { $0.kind == .unreachable }
    Self.add(
      unreachable.filter { $0.destination == .production }.map { "\($0)" }, to: &unreachableApple)
  }

  /// Each thing without which the worker can do nothing, and what is wrong with it, in words. It
  /// has started before Apple answers and before anything can be sent.
  func health(isStopping: Bool) -> [HealthPart] {
    func trouble(_ texts: [String]) -> String? {
      texts.isEmpty ? nil : texts.joined(separator: "; ")
    }
    return [
      HealthPart("running", trouble: isStopping ? "the worker stops" : nil),
      HealthPart("partitions", trouble: partitions > 0 ? nil : "the group has given it none"),
      HealthPart("redis", trouble: trouble(redisTroubles)),
      HealthPart(
        "waiting", trouble: trouble(DependencyWait.words(waitsFor, told: redisTroubles)),
        isVital: false),
      HealthPart("credentials", trouble: trouble(refusedCredentials), isVital: false),
      HealthPart("apns", trouble: trouble(unreachableApple), isVital: false),
    ]
  }

  /// Before the first push finds it out.
  /// - Parameter now: ms since 1970.
  private mutating func note(expiry: Int64?, now: Int64) {
    credentialsExpireAt = expiry
    if let expiry, expiry * 1000 <= now { refusedCredentials = ["the certificate has expired"] }
  }

  mutating func add(_ replicas: RedisReplicaFigures?) {
    guard let replicas else { return }
    replicaLag = [replicaLag, replicas.worstLag].compactMap { $0 }.max()
    replicaReads += replicas.answered
    replicaFallBacks += replicas.fellBack
  }

  private static func add<T: Equatable>(_ texts: [T], to all: inout [T]) {
    for text in texts where !all.contains(text) { all.append(text) }
  }
}

/// How a lane is at the moment: for heartbeat and metrics.
package struct LaneFigures: Sendable {
  package let ready: Int
  package let platforms: [String: PlatformFigures]
  /// Segments that it has claimed, and those of them that have a slot.
  let claims: Int
  let slots: Int
  /// The ids of the events that it has segments of.
  let fanOuts: Set<String>
  /// Segments whose pushes were all tried and are not all settled.
  package let awaitingAnswers: Int
  /// Bytes that the batches of pushes under way took at most since the lane began.
  let mostBatchBytes: Int
  /// How far the clock was ahead of Redis' when they were compared last, in ms; less than 0:
  /// behind.
  let clockAhead: Int64
  /// Dependencies that are waited for.
  let waitsFor: [DependencyWait]
  /// Why there is no connection on which Redis has answered, whether or not anybody waits for it.
  let redisTrouble: String?
  package let obstacles: [RouteObstacle]
  /// Limits of pushes a second that hold up pushes, in words.
  package let limits: [String]
  /// How old events were when they were read, since the lane began.
  package let eventAges: Histogram
  /// Of fan-outs that the lane saw the end of.
  let fanOutTimes: Histogram
  let firstPushTimes: Histogram
  /// Since the lane began: how long Redis took to answer, and how often it did not.
  let redisTimes: Histogram
  let redisFailures: Int
  /// Connections to Redis that were there and broke.
  let brokenRedisConnections: Int
  /// Nil where everything is read from masters.
  package let replicas: RedisReplicaFigures?
}
