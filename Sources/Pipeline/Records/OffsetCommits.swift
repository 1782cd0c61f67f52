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
  /// The commit on its way. No other commit of ours begins meanwhile: one that is tried again could
  /// come behind a newer one, and set the group back. The last commits, when partitions or the
  /// worker go, wait for nothing.
  private var underWay: [KafkaPartition: Int64] = [:]
  /// The offsets that such a last commit has committed while another was on its way: if that comes
  /// behind it, and the partition is ours again, they are committed once more.
  private var last: [KafkaPartition: Int64] = [:]

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
    for partition in partitions { underWay[partition] = nil }
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
    underWay = committable
    consumer.commit(committable)
  }

  func succeeded(_ committed: [KafkaPartition: Int64]) {
    counters.add(.kafkaCommits)
    var setBack: [KafkaPartition: Int64] = [:]
    for (partition, offset) in committed {
      let before = last.removeValue(forKey: partition)
      if let sent = underWay.removeValue(forKey: partition), offset > sent {
        last[partition] = offset
      } else if let before, offset < before, consumer.assignment.contains(partition) {
        setBack[partition] = before
      }
    }
    if !setBack.isEmpty { consumer.commit(setBack) }
  }

  /// The next commit covers it again; should none come, the settled marks know what was done.
  func failed(_ partitions: [KafkaPartition], _ error: KafkaError) {
    counters.add(.kafkaCommitFailures)
    for partition in partitions { underWay[partition] = nil }
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
