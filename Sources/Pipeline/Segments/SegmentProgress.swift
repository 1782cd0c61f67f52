import EventLoop
import Model

/// What a segment has under way in its lane: the batches that are not settled, and waits for there
/// being fewer. Confined to its lane; one caller waits at a time.
final class SegmentProgress {
  /// Batches that may be unsettled at once. A batch keeps its memory, about 400 KB, until its last
  /// push has an outcome or leaves, so this bounds what a segment of any size holds; 32 batches of
  /// 256 are many times what a lane has in flight.
  static let maximumBatches = 32

  enum Goal {
    /// One more batch may be rendered, or nothing moves any more: what is left only waits.
    case roomOrStalled
    case room
    /// Every push was tried or cannot be.
    case nothingUnsent
    case allSettled
  }

  let tally: SegmentTally
  private let loop: EventLoop
  private let memory: BatchMemory
  private(set) var unsettledBatches = 0
  /// Bytes of memory that the unsettled batches keep.
  private(set) var unsettledBytes = 0
  private(set) var isAbandoned = false
  private var waiter: (goal: Goal, continuation: CheckedContinuation<Void, Never>)?

  init(tally: SegmentTally, loop: EventLoop, memory: BatchMemory) {
    self.tally = tally
    self.loop = loop
    self.memory = memory
    tally.whenNothingIsUnsent = { [weak self] in self?.check() }
  }

  func watch(_ batch: PushBatch) {
    guard batch.unsettled > 0 else { return }
    let bytes = batch.bytes.capacity
    unsettledBatches += 1
    unsettledBytes += bytes
    let lease = memory.take(bytes)
    batch.whenSettled = { [self] in
      unsettledBatches -= 1
      unsettledBytes -= bytes
      check()
      withExtendedLifetime(lease) {}
    }
  }

  /// Returns when the goal is reached, `limit` is over or the segment is given up; whether it is
  /// reached.
  func reached(_ goal: Goal, within limit: Duration? = nil) async -> Bool {
    guard !isReached(goal), !isAbandoned else { return isReached(goal) }
    let timer = limit.map { limit in
      loop.schedule(after: limit) { [weak self] in self?.resume() }
    }
    memory.wait(self) { [weak self] in self?.check() }
    await withCheckedContinuation { waiter = (goal, $0) }
    memory.waitNoLonger(self)
    timer?.cancel()
    return isReached(goal)
  }

  /// The lane stops, or the segment is another's: whoever waits, now or later, goes on with what
  /// there is.
  func abandon() {
    isAbandoned = true
    resume()
  }

  /// Whoever waits looks again what there is to do.
  func wake() { resume() }

  private func isReached(_ goal: Goal) -> Bool {
    switch goal {
    case .roomOrStalled: hasRoom || tally.unsent == 0
    case .room: hasRoom
    case .nothingUnsent: tally.unsent == 0
    case .allSettled: unsettledBatches == 0
    }
  }

  /// Whatever others keep, a segment may have one batch: each goes on, however slowly.
  private var hasRoom: Bool {
    unsettledBatches == 0 || unsettledBatches < Self.maximumBatches && !memory.isFull
  }

  /// How long pushes in a back-off are waited for before they leave to make room: not at all, or
  /// `longest` where only what other segments keep leaves none. Where all of a lane take too much,
  /// such pushes are not those that do.
  func roomWait(atMost longest: Duration) -> Duration {
    !hasRoom && unsettledBatches < Self.maximumBatches ? longest : .zero
  }

  private func check() {
    if let waiter, isReached(waiter.goal) { resume() }
  }

  private func resume() {
    let resumed = waiter
    waiter = nil
    resumed?.continuation.resume()
  }
}

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
