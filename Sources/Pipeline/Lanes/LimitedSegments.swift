import Model

/// Segments of fan-outs that a limit of pushes a second holds up: they are worked on without one of
/// the lane's slots, many at a time, and more wait for these as records. Confined to its lane.
final class LimitedSegments {
  /// Segments that are worked on. Each keeps a page and a batch, mostly half a megabyte.
  static let maximum = 64
  /// Of them those of one limit: another does not wait for these alone.
  static let maximumOfLimit = 24
  /// Those of large fan-outs: nor do small ones.
  private static let maximumOfLarge = 48
  /// And of one large fan-out, so that one begins when the other ends.
  private static let maximumOfOne = 2
  /// Records that wait.
  static let maximumWaiting = 32

  enum Turn {
    /// Nothing has changed since it came.
    case now
    /// It has waited: whatever was known of the segment is old.
    case later
    /// Too many wait: it is to rest in the stragglers' topic.
    case deferred
  }

  private struct Waiter {
    let run: SegmentRun
    let continuation: CheckedContinuation<Void, Never>
    var fanOut: FanOut { run.tally.fanOut }
  }

  private var working: [SegmentRun] = []
  private var waiting: [Waiter] = []
  private var isStopped = false

  /// Runs that wait to begin.
  var waitingRuns: [SegmentRun] { waiting.map(\.run) }

  /// Returns when the segment may be worked on: at once, unless a limit holds up its fan-out, or
  /// may soon and nobody else could leave a slot for it.
  /// - Parameter now: ms since 1970.
  func turn(of run: SegmentRun, at now: Int64) async throws -> Turn {
    let fanOut = run.tally.fanOut
    guard !fanOut.limits.isEmpty, fanOut.isShort || working.count >= Self.maximum,
      !isOver(run, at: now)
    else { return .now }
    if hasRoom(for: fanOut) {
      begin(run)
      return .now
    }
    guard waiting.count < Self.maximumWaiting else { return .deferred }
    run.slot.release()
    guard !isStopped else { throw RetryUntilStopped.Stopped() }
    await withCheckedContinuation { waiting.append(Waiter(run: run, continuation: $0)) }
    guard !isStopped else { throw RetryUntilStopped.Stopped() }
    return .later
  }

  /// Nothing of it is sent any more: what is left to do is soon done.
  private func isOver(_ run: SegmentRun, at now: Int64) -> Bool {
    run.tally.fanOut.halt != nil || run.segment.event.isExpired(at: now)
  }

  /// Whether more segments of an event would only wait: some of it do, or nobody else can.
  func holdsUp(_ event: Event) -> Bool {
    waiting.count >= Self.maximumWaiting
      || waiting.contains { $0.run.segment.event.id == event.id }
  }

  /// The run has ended, whether or not it was limited.
  func end(_ run: SegmentRun) {
    guard let index = working.firstIndex(where: { $0 === run }) else { return }
    working.remove(at: index)
    goOn()
  }

  /// Runs that a limit has begun to hold up release their slots, and whoever is held up no longer
  /// goes on, or has come to an end. Called now and then.
  /// - Parameter now: ms since 1970.
  func update(_ runs: [SegmentRun], now: Int64) {
    while let index = waiting.firstIndex(where: { isOver($0.run, at: now) }) { resume(index) }
    goOn()
    for run in runs where run.slot.isHeld && run.tally.fanOut.isShort {
      guard working.count < Self.maximum else { return }
      begin(run)
    }
  }

  /// The lane stops: nobody waits any more.
  func stop() {
    isStopped = true
    let waiting = waiting
    self.waiting = []
    for waiter in waiting { waiter.continuation.resume() }
  }

  private func begin(_ run: SegmentRun) {
    working.append(run)
    run.slot.release()
  }

  private func hasRoom(for fanOut: FanOut) -> Bool {
    guard working.count < Self.maximum,
      fanOut.limits.allSatisfy({ count(of: $0) < Self.maximumOfLimit })
    else { return false }
    if fanOut.isSmall || !fanOut.isShort { return true }
    return working.count { !$0.tally.fanOut.isSmall } < Self.maximumOfLarge
      && count(of: fanOut) < Self.maximumOfOne
  }

  private func count(of fanOut: FanOut) -> Int { working.count { $0.tally.fanOut === fanOut } }

  private func count(of limit: PushLimit) -> Int {
    working.count { $0.tally.fanOut.limits.contains { $0 === limit } }
  }

  /// Resumes the segments that have room: small fan-outs first, then those with the least under
  /// way, then those that have waited longest.
  private func goOn() { while let index = next { resume(index) } }

  private func resume(_ index: Int) {
    let waiter = waiting.remove(at: index)
    begin(waiter.run)
    waiter.continuation.resume()
  }

  private var next: Int? {
    waiting.indices.filter { hasRoom(for: waiting[$0].fanOut) }
      .min { rank(waiting[$0].fanOut) < rank(waiting[$1].fanOut) }
  }

  private func rank(_ fanOut: FanOut) -> Int { fanOut.isSmall ? -1 : count(of: fanOut) }
}
