import MemoryKafka
import Text

/// Time that passes when it is told to, and numbers from a seed.
///
/// `@unchecked Sendable`: confined to the actor `KafkaContract`.
final class ManualTime: @unchecked Sendable {
  private var due: [(at: UInt64, number: Int, body: () -> Void)] = []
  private(set) var now: UInt64 = 1_000_000_000
  private var lastNumber = 0
  private var random: SplitMix64

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  func next() -> UInt64 { random.next() }

  func schedule(_ delay: Duration, _ body: @escaping () -> Void) {
    lastNumber += 1
    due.append((now + Self.nanoseconds(delay), lastNumber, body))
  }

  /// Runs what is due, in order.
  func advance(by delay: Duration) {
    let target = now + Self.nanoseconds(delay)
    while let index = firstDue, due[index].at <= target {
      now = max(now, due[index].at)
      due.remove(at: index).body()
    }
    now = target
  }

  private var firstDue: Int? {
    due.indices.min { (due[$0].at, due[$0].number) < (due[$1].at, due[$1].number) }
  }

  private static func nanoseconds(_ duration: Duration) -> UInt64 {
    let (seconds, attoseconds) = duration.components
    return UInt64(max(seconds, 0)) * 1_000_000_000 + UInt64(max(attoseconds, 0) / 1_000_000_000)
  }

  /// What a broker takes its time and its numbers from. Strong: the broker lives as long as that.
  var memoryTime: MemoryTime {
    MemoryTime(
      now: { self.now }, wallClock: { 1_700_000_000_000 + Int64(self.now / 1_000_000) },
      schedule: { self.schedule($0, $1) }, random: { self.next() })
  }
}
