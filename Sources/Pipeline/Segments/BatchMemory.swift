/// Bytes that the batches of a lane keep, of all its segments together. A batch keeps its bytes
/// until its last push has an outcome or leaves, so that one push that waits may keep a whole one:
/// without this bound, each segment might keep as many as it may have unsettled. Confined to its
/// lane.
final class BatchMemory {
  private let maximum: Int
  private(set) var bytes = 0
  /// Since the lane began.
  private(set) var mostBytes = 0
  /// Segments that wait for there being room, in the order in which they came.
  private var waiting: [(waiter: ObjectIdentifier, look: () -> Void)] = []

  init(maximum: Int) { self.maximum = maximum }

  var isFull: Bool { bytes >= maximum }

  /// What takes them keeps the return value, which gives them back when it goes: a batch that its
  /// lane gives up never says that it is settled.
  func take(_ count: Int) -> Lease {
    bytes += count
    mostBytes = max(mostBytes, bytes)
    return Lease(self, count)
  }

  final class Lease {
    private let memory: BatchMemory
    private let bytes: Int

    fileprivate init(_ memory: BatchMemory, _ bytes: Int) {
      self.memory = memory
      self.bytes = bytes
    }

    deinit { memory.giveBack(bytes) }
  }

  private func giveBack(_ count: Int) {
    let wasFull = isFull
    bytes -= count
    guard wasFull, !isFull else { return }
    for (_, look) in waiting { look() }
  }

  func wait(_ waiter: AnyObject, _ look: @escaping () -> Void) {
    waitNoLonger(waiter)
    waiting.append((ObjectIdentifier(waiter), look))
  }

  func waitNoLonger(_ waiter: AnyObject) {
    waiting.removeAll { $0.waiter == ObjectIdentifier(waiter) }
  }
}
