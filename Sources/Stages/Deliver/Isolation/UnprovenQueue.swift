import EventLoop
import Model

/// Pushes to tokens of which nothing is known that wait for a connection of their own, in the order
/// they came: a compartment of a topic's `ReadyQueue`, so that all that holds for what is ready
/// holds for them. Times are monotonic nanoseconds.
struct UnprovenQueue {
  /// Of a route: what its connections for them send in a quarter of a second, and the unknown ones
  /// of some 10,000 pushes where one in twenty is. What comes besides goes with all others.
  static let maximum = 512
  /// Of one push; its payload is counted with its batch.
  static let bytesOfPush = 192

  struct Item {
    let push: ReadyPush
    let since: UInt64
  }

  private var items = Queue<Item>()

  var count: Int { items.count }
  /// When the first of them came.
  var oldest: UInt64? { items.first?.since }
  var first: ReadyPush? { items.first?.push }

  mutating func append(_ push: ReadyPush, at now: UInt64) {
    items.append(Item(push: push, since: now))
  }

  mutating func popFirst() -> ReadyPush? { items.popFirst()?.push }

  var all: [ReadyPush] { items.all.map(\.push) }

  func contains(_ tally: SegmentTally) -> Bool {
    items.contains { $0.push.tally === tally }
  }

  mutating func take(where isWanted: (PushBatch) -> Bool) -> [ReadyPush] {
    guard !items.isEmpty else { return [] }
    let taken = all.filter { isWanted($0.batch) }
    if !taken.isEmpty { items.remove { isWanted($0.push.batch) } }
    return taken
  }
}
