import EventLoop
import Kafka

/// Partitions that the group wants back and that we keep until their runs are done, or until it has
/// waited long enough. Confined to the pump's loop.
final class Revocation {
  private let loop: EventLoop
  /// How long the group is kept waiting.
  private let timeout: Duration
  private(set) var partitions: Set<KafkaPartition> = []
  private var deadline: LoopTimer?

  init(loop: EventLoop, timeout: Duration) {
    self.loop = loop
    self.timeout = timeout
  }

  func begin(_ partitions: Set<KafkaPartition>, whenTimeIsOver giveUp: @escaping () -> Void) {
    self.partitions = partitions
    deadline = loop.schedule(after: timeout, giveUp)
  }

  /// Whether there is something to give up, and nothing of it runs.
  func isDone(_ running: RunningRecords) -> Bool {
    !partitions.isEmpty && !running.contains(anyOf: partitions)
  }

  /// Whether there was something to give up.
  func end() -> Bool {
    guard !partitions.isEmpty else { return false }
    partitions = []
    deadline?.cancel()
    return true
  }

  /// They are another member's.
  func revoked(_ gone: Set<KafkaPartition>) {
    partitions.subtract(gone)
    if partitions.isEmpty { deadline?.cancel() }
  }
}
