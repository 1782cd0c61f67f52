import EventLoop
import Model
import Record

/// One run of one segment in a lane, under a claim: where it is in its life, the batches that are
/// not settled, and waits for there being fewer. One caller waits at a time. Confined to its lane.
final class SegmentRun {
  /// Batches that may be unsettled at once. A batch keeps its memory, about 400 KB, until its last
  /// push has an outcome or leaves, so this bounds what a segment of any size holds; 32 batches of
  /// 256 are many times what a lane has in flight.
  static let maximumBatches = 32
  /// A note and a change of one token.
  private static let changeBytes = 640
  /// A user's and a device's name, and what came of the push so far, in memory and as a record.
  private static let stragglerBytes = 512

  enum Goal {
    /// One more batch may be rendered, or nothing moves any more: what is left only waits.
    case roomOrStalled
    case room
    /// Every push was tried or cannot be.
    case nothingUnsent
    case allSettled
  }

  let claim: Claim
  let slot: LaneSlot
  let tally: SegmentTally
  /// Of a segment of stragglers.
  let index: StragglerIndex?
  /// That its stragglers are for.
  let destinations: Set<Destination>
  private(set) var machine = SegmentMachine()
  /// Segments of stragglers that this run has written, not settled yet.
  var written: [PlannedStragglers] = []
  /// The topic of the record that it came in.
  var topic = ""
  /// When its claim was won, in ms since 1970.
  var claimedAt: Int64 = 0
  /// Stragglers that Kafka has not taken yet.
  var unwritten = 0
  /// The event had expired by Redis' clock when the segment was claimed.
  var isLate = false
  /// Of the record that it came in.
  private let recordBytes: Int
  private let loop: EventLoop
  private let memory: BatchMemory
  private var unsettledBatches = 0
  /// Bytes of memory that the unsettled batches keep.
  private var unsettledBytes = 0
  private var waiter: (goal: Goal, continuation: CheckedContinuation<Void, Never>)?

  init(
    claim: Claim, of fanOut: FanOut = FanOut(), recordBytes: Int = 0, slot: LaneSlot,
    loop: EventLoop, memory: BatchMemory
  ) {
    self.claim = claim
    self.slot = slot
    self.recordBytes = recordBytes
    self.loop = loop
    self.memory = memory
    tally = SegmentTally(of: fanOut)
    index = claim.segment.stragglers.map { StragglerIndex($0) }
    destinations = claim.segment.stragglers?.destinations ?? []
    tally.mayStraggle = index == nil
    tally.whenNothingIsUnsent = { [weak self] in self?.resumeIfReached() }
  }

  var segment: Segment { claim.segment }

  /// Whether pushes of it may have been sent that are not recorded, here or by whom it was taken
  /// from.
  var mayHaveSent: Bool { tally.firstPushAt > 0 || tally.mayHaveBeenSent }

  /// Memory that it keeps: its batches, its record and, as large again, what was read of that, and
  /// the pushes that leave it.
  var keptBytes: Int {
    unsettledBytes + 2 * recordBytes + (tally.notes?.keptBytes ?? 0)
      + (tally.reports?.keptBytes ?? 0)
      + (tally.stragglers.count + unwritten) * Self.stragglerBytes
      + tally.pendingChanges.notes.count * Self.changeBytes
  }

  // MARK: its life

  /// Takes what came of an action, or what happened meanwhile, and says what is to be done next.
  @discardableResult
  func take(_ input: SegmentMachine.Input) -> SegmentMachine.Action {
    let action = machine.take(input)
    if action == .stopSending {
      // Pushes that wait are not sent any more, whoever has them.
      tally.sendableUntil = 0
      wake()
    }
    return action
  }

  /// - Parameter asked: monotonic nanoseconds when the claim was asked for; it began no sooner.
  func holds(since asked: UInt64, for lifetime: Duration) {
    // A tenth less, for the difference between this clock's pace and that of Redis.
    tally.sendableUntil = asked &+ lifetime.nanoseconds / 10 * 9
  }

  /// Throws when the lane has stopped or another worker has the segment.
  func check() throws(RetryUntilStopped.Stopped) {
    guard machine.maySend else { throw RetryUntilStopped.Stopped() }
  }

  // MARK: its batches

  func watch(_ batch: PushBatch) {
    guard batch.unsettled > 0 else { return }
    let bytes = batch.bytes.capacity
    unsettledBatches += 1
    unsettledBytes += bytes
    let lease = memory.take(bytes)
    batch.whenSettled = { [self] in
      unsettledBatches -= 1
      unsettledBytes -= bytes
      resumeIfReached()
      withExtendedLifetime(lease) {}
    }
  }

  /// Returns when the goal is reached, `limit` is over or nothing more may be sent; whether it is
  /// reached.
  func reached(_ goal: Goal, within limit: Duration? = nil) async -> Bool {
    guard !isReached(goal), machine.maySend else { return isReached(goal) }
    let timer = limit.map { limit in
      loop.schedule(after: limit) { [weak self] in self?.wake() }
    }
    memory.wait(self) { [weak self] in self?.resumeIfReached() }
    await withCheckedContinuation { waiter = (goal, $0) }
    memory.waitNoLonger(self)
    timer?.cancel()
    return isReached(goal)
  }

  /// Resumes the waiting task, which finds out what there is to do.
  func wake() {
    let resumed = waiter
    waiter = nil
    resumed?.continuation.resume()
  }

  private func resumeIfReached() {
    if let waiter, isReached(waiter.goal) { wake() }
  }

  private func isReached(_ goal: Goal) -> Bool {
    switch goal {
    case .roomOrStalled: hasRoom || tally.unsent == 0
    case .room: hasRoom
    case .nothingUnsent: tally.unsent == 0
    case .allSettled: unsettledBatches == 0
    }
  }

  /// Whether there is room for another batch. A segment may always have one, however much memory
  /// others use, so that each goes on.
  private var hasRoom: Bool {
    unsettledBatches == 0 || unsettledBatches < Self.maximumBatches && !memory.isFull
  }

  /// How long pushes in a back-off are waited for before they leave to make room: not at all, or
  /// `longest` where only what other segments keep leaves none. Where all of a lane take too much,
  /// such pushes are not those that do.
  func roomWait(atMost longest: Duration) -> Duration {
    !hasRoom && unsettledBatches < Self.maximumBatches ? longest : .zero
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
  private var waiting: [(waiter: ObjectIdentifier, whenThereIsRoom: () -> Void)] = []

  init(maximum: Int) { self.maximum = maximum }

  var isFull: Bool { bytes >= maximum }

  /// The caller keeps the return value, which gives the pushes back when it goes: a batch that its
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
    for (_, resume) in waiting { resume() }
  }

  func wait(_ waiter: AnyObject, _ whenThereIsRoom: @escaping () -> Void) {
    waitNoLonger(waiter)
    waiting.append((ObjectIdentifier(waiter), whenThereIsRoom))
  }

  func waitNoLonger(_ waiter: AnyObject) {
    waiting.removeAll { $0.waiter == ObjectIdentifier(waiter) }
  }
}
