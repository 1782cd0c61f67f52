import EventLoop
import Kafka
import Telemetry

/// Records that Kafka threw away before anybody had read them: counted, told to the operator, and
/// looked for in Redis where they were segments. Confined to the pump's loop.
final class RecordLosses {
  /// Several partitions lose records at once, and what they lost is looked for together.
  static let recoveryDelay: Duration = .seconds(2)

  private let loop: EventLoop
  private let log: Log
  private let lane: any RecordRunner
  private let eventsTopic: String
  private let stragglersTopic: String
  /// By topic, since the worker began.
  private(set) var counts: [String: Int]
  private var isRecoveryDue = false
  private var haveStragglersGone = false

  init(options: PipelineOptions, loop: EventLoop, lane: any RecordRunner, topics: [String]) {
    self.loop = loop
    self.lane = lane
    log = options.log
    eventsTopic = options.ingest.eventsTopic
    stragglersTopic = options.ingest.stragglersTopic
    counts = Dictionary(topics.map { ($0, 0) }) { first, _ in first }
  }

  func note(_ partition: KafkaPartition, _ offsets: Range<Int64>) {
    counts[partition.topic, default: 0] += offsets.count
    let what =
      partition.topic == eventsTopic
      ? "Kafka has thrown events away that no worker had read: nobody is told of them"
      : "Kafka has thrown records away that no worker had read: segments are planned again"
    log.error(
      "\(what); give the topic a longer retention",
      [
        "topic": .text(partition.topic), "partition": .integer(Int(partition.partition)),
        "first": .integer(Int(offsets.lowerBound)), "records": .integer(offsets.count),
      ])
    if partition.topic != eventsTopic {
      recoverSoon(haveStragglersGone: partition.topic == stragglersTopic)
    }
  }

  private func recoverSoon(haveStragglersGone: Bool) {
    self.haveStragglersGone = self.haveStragglersGone || haveStragglersGone
    guard !isRecoveryDue else { return }
    isRecoveryDue = true
    loop.schedule(after: Self.recoveryDelay) { [weak self] in self?.recover() }
  }

  private func recover() {
    let areStragglersLost = haveStragglersGone
    isRecoveryDue = false
    haveStragglersGone = false
    Task(executorPreference: lane.taskExecutor) { [lane] in
      await lane.recoverSegments(areStragglersLost: areStragglersLost)
    }
  }
}
