import Ingest
import Kafka
import Telemetry

/// Commits the offsets of what is done, now and then and when partitions go. Confined to the pump's
/// loop.
final class OffsetCommits {
  private let consumer: any GroupConsumer
  private let counters: WorkerCounters
  private let log: Log
  private var offsets = OffsetLedger()
  private var hasNews = false
  /// Partitions of the commit on its way. No other commit of ours begins meanwhile: one that is
  /// tried again could come behind a newer one, and set the group back. The last commits, when
  /// partitions or the worker go, wait for nothing: settled marks know what is read again.
  private var underWay: Set<KafkaPartition> = []

  init(consumer: any GroupConsumer, counters: WorkerCounters, log: Log) {
    self.consumer = consumer
    self.counters = counters
    self.log = log
  }

  func start() {
    consumer.offsetsToCommitOnRevoke = { [weak self] _ in
      self?.offsets.takeCommittable(all: true) ?? [:]
    }
  }

  func assigned(_ partitions: [KafkaPartition]) { offsets.assigned(partitions) }

  func revoked(_ partitions: [KafkaPartition]) {
    offsets.revoked(partitions)
    underWay.subtract(partitions)
  }

  /// Returns what the record is known by; nil when its partition is not ours.
  func began(_ message: KafkaMessage) -> Int? { offsets.began(message.source, message.offset) }

  /// Nothing behind a gap is committed until it has `ended`. Returns what it is known by.
  func began(_ partition: KafkaPartition, gapAt offset: Int64) -> Int? {
    offsets.began(partition, offset)
  }

  func ended(_ gap: RecordLosses.Gap) {
    offsets.finished(gap.partition, gap.offset, gap.number)
    hasNews = true
  }

  func reachedEnd(_ partition: KafkaPartition, _ end: Int64) {
    offsets.reachedEnd(partition, end)
    hasNews = true
  }

  func finished(_ run: RunningRecords.Run) {
    offsets.finished(run.message.source, run.message.offset, run.number)
    hasNews = true
  }

  /// Whether the run's record is ours to do: its partition has not been taken away since it came.
  func awaits(_ run: RunningRecords.Run) -> Bool {
    offsets.awaits(run.message.source, run.message.offset, run.number)
  }

  func commit() {
    guard hasNews, underWay.isEmpty else { return }
    hasNews = false
    let committable = offsets.takeCommittable()
    guard !committable.isEmpty else { return }
    underWay = Set(committable.keys)
    consumer.commit(committable)
  }

  /// One that began before its partitions went, and came back to us, may have come behind a newer
  /// one: then that is sent again.
  func succeeded(_ committed: [KafkaPartition: Int64]) {
    counters.add(.kafkaCommits)
    underWay.subtract(committed.keys)
    if offsets.fellBack(to: committed) { hasNews = true }
  }

  /// The next commit covers it again; should none come, the settled marks know what was done.
  func failed(_ partitions: [KafkaPartition], _ error: KafkaError) {
    counters.add(.kafkaCommitFailures)
    underWay.subtract(partitions)
    offsets.commitFailed(partitions)
    hasNews = true
    log.warning("offsets not committed", ["error": .text("\(error)")])
  }

  /// Commits all that is done, and waits for it.
  func commitLast(timeout: Duration) {
    do {
      try consumer.commitNow(offsets.takeCommittable(all: true), timeout: timeout)
    } catch {
      log.warning("last commit failed", ["error": .text("\(error)")])
    }
    // Nothing is done since: another commit while the group is left would only cost time, and one
    // that failed would fail again.
    consumer.offsetsToCommitOnRevoke = nil
  }
}
