import APNsSimulator
import Fixtures
import Glibc
import TestBed

/// A fault, and how operators must learn of it.
struct Drill: Sendable {
  /// What one of the worker's metrics does.
  enum Change: Sendable {
    case rises
    case reaches(Double)
    /// The worker answers no scrape: Prometheus' `up` is 0.
    case isGone
  }

  struct Metric: Sendable {
    let family: String
    var labels: [String] = []
    var change = Change.rises
  }

  let fault: String
  /// How Apple is before.
  var script = SimulatorScript()
  /// What must be there before.
  var prepare: @Sendable (DrillStand) async throws -> Void = { _ in }
  /// Returns when the fault is there.
  let make: @Sendable (DrillStand) async throws -> Void
  /// The beginning of the alert's name, and words that stand in its text.
  let alert: (name: String, words: String)
  /// Of docs/operations.md.
  let anchor: String
  let metric: Metric

  static let all = ofRedis + ofKafka + ofRecords + ofApple + ofWorkers

  private static func obstacle(_ cause: String) -> Metric {
    Metric(
      family: "fanfare_obstacles", labels: ["kind=\"dependency\"", "cause=\"\(cause)\""])
  }

  private static func routeObstacle(_ cause: String) -> Metric {
    Metric(
      family: "fanfare_obstacles",
      labels: ["kind=\"route\"", "cause=\"\(cause)\"", "environment=\"production\""])
  }
}

extension Drill {
  private static let ofRedis = [
    Drill(
      fault: "Redis down", make: { $0.bed.redis.kill() },
      alert: ("redis", "Redis does not answer"), anchor: "redis-is-down",
      metric: obstacle("redis")),
    Drill(
      fault: "READONLY",
      make: { _ = try $0.bed.redis.cli("REPLICAOF", "127.0.0.1", "\(try DeadPort.number)") },
      alert: ("redis", "is a replica"), anchor: "redis-is-a-replica", metric: obstacle("redis")),
    Drill(
      fault: "OOM", make: { _ = try $0.bed.redis.cli("CONFIG", "SET", "maxmemory", "1") },
      alert: ("redis memory", "memory is full"), anchor: "redis-memory-is-full",
      metric: Metric(family: "fanfare_redis_failures_total")),
  ]

  private static let ofKafka = [
    Drill(
      fault: "Kafka down", make: { $0.bed.broker?.setDown(true) },
      alert: ("\(DrillStand.workerID) waits", "no broker"), anchor: "kafka-is-down",
      metric: obstacle("kafka")),
    Drill(
      fault: "lag", script: answering(after: .seconds(20)),
      prepare: { try await $0.bed.follow("s1", tokens: [paddedHex(1)]) },
      make: { try await emitMany($0.bed) }, alert: ("lag", "records wait"),
      anchor: "records-wait-in-kafka",
      metric: Metric(family: "fanfare_kafka_lag_events", change: .reaches(1_000))),
    Drill(
      fault: "dead letters refused",
      make: { stand in
        try await stand.whileTheWorkerStands {
          try await stand.bed.emit(raw: poison, key: "s1")
          stand.bed.broker?.fail(
            next: .produce, with: Array(repeating: .topicAuthorizationFailed, count: 500))
        }
      }, alert: ("\(DrillStand.workerID) waits", "dead letters"),
      anchor: "dead-letters-are-refused", metric: obstacle("dead_letters")),
  ]

  private static let ofRecords = [
    Drill(
      fault: "poison events", make: { try await $0.bed.emit(raw: poison, key: "s1") },
      alert: ("dead letters", "went to the dead letters"), anchor: "a-record-cannot-be-decoded",
      metric: Metric(family: "fanfare_dlq_messages_total")),
    Drill(
      fault: "records lost to retention",
      prepare: { stand in
        // Whoever has read nothing yet misses nothing.
        try await stand.bed.follow("s1", tokens: [paddedHex(1)])
        try await stand.bed.emit("e1")
        _ = try await stand.bed.finished("e1")
      },
      make: { stand in
        try await stand.whileTheWorkerStands {
          // The broker keeps the last 5 MiB of a partition.
          for _ in 0..<8 {
            try await stand.bed.emit(raw: [UInt8](repeating: 65, count: 900_000), key: "s1")
          }
        }
      }, alert: ("\(DrillStand.workerID) lost", "Kafka deleted"),
      anchor: "records-that-kafka-deleted",
      metric: Metric(family: "fanfare_kafka_records_skipped_total")),
  ]

  private static let ofApple = [
    Drill(
      // More pushes than streams: with fewer, an answer may take `apns.request_timeout` (30 s).
      fault: "Apple silent", script: granting(streams: 20),
      prepare: { try await $0.bed.follow("s1", tokens: (0..<500).map { paddedHex($0) }) },
      make: { stand in
        var silent = granting(streams: 20)
        silent.rules = [.init(steps: [.init(.silence)])]
        await stand.bed.simulator.replaceScript(silent)
        try await stand.bed.emit("e1")
      }, alert: ("\(DrillStand.workerID) production: unreachable", "unreachable"),
      anchor: "apple-answers-nothing", metric: routeObstacle("unreachable")),
    Drill(
      fault: "credentials refused",
      prepare: { try await $0.bed.follow("s1", tokens: (0..<20).map { paddedHex($0) }) },
      make: { stand in
        var refusing = SimulatorScript()
        let refusal = Refusal(status: 403, reason: "InvalidProviderToken")
        refusing.rules = [.init(steps: [.init(.refuse(refusal))])]
        await stand.bed.simulator.replaceScript(refusing)
        try await stand.bed.emit("e1")
      }, alert: ("\(DrillStand.workerID) production", "InvalidProviderToken"),
      anchor: "credentials-that-apple-refuses", metric: routeObstacle("credentials_refused")),
  ]

  private static let ofWorkers = [
    Drill(
      fault: "a worker dead", make: { _ = $0.worker.stop(SIGKILL) },
      alert: ("worker \(DrillStand.workerID)", "no heartbeat"), anchor: "a-worker-dies",
      metric: Metric(family: "fanfare_build_info", change: .isGone)),
    Drill(
      fault: "template broken",
      make: {
        try $0.bed.directory.write(DrillStand.brokenTemplate, to: DrillStand.templateFile)
      }, alert: ("template go-live", "the template go-live"),
      anchor: "a-changed-template-has-a-mistake",
      metric: Metric(
        family: "fanfare_reloads_total", labels: ["what=\"templates\"", "result=\"refused\""])),
  ]

  private static let poison = Array("no event".utf8)

  private static func answering(after latency: Duration) -> SimulatorScript {
    var script = SimulatorScript()
    script.latency = latency
    return script
  }

  private static func granting(streams: Int) -> SimulatorScript {
    var script = SimulatorScript()
    script.streams = streams
    return script
  }

  /// Eight at a time, so that Kafka's client writes them in batches.
  private static func emitMany(_ bed: WorkerBed) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for sender in 0..<8 {
        group.addTask { for each in 0..<200 { try await bed.emit("d\(sender)-\(each)") } }
      }
      try await group.waitForAll()
    }
  }
}
