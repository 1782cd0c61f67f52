import Model

/// Segments of fan-outs that a limit of pushes a second holds up: a few of them are worked on at a
/// time, without one of the lane's places, and more wait for these as records. Confined to its
/// lane.
final class LimitedSegments {
  /// Segments that are worked on: `MemoryBudget` counts what they keep.
  static let maximum = 4
  /// Of them those of large fan-outs: small ones do not wait for these alone.
  private static let maximumOfLarge = 3
  /// And of one fan-out, so that one begins when the other ends.
  private static let maximumOfOne = 2
  /// Records that wait.
  static let maximumWaiting = 32

  enum Turn {
    /// Nothing has changed since it came.
    case now
    /// It has waited: whatever was known of the segment is old.
    case later
    /// Too many wait: it is to rest in the stragglers' topic.
    case putOff
  }

  private struct Waiter {
    let run: SegmentRun
    let continuation: CheckedContinuation<Void, Never>
    var fanOut: FanOut { run.tally.fanOut }
  }

  private var working: [SegmentRun] = []
  private var waiting: [Waiter] = []
  private var isStopped = false

  /// Records that wait.
  var waitingCount: Int { waiting.count }

  /// Returns when the segment may be worked on: at once, unless a limit holds up its fan-out.
  func turn(of run: SegmentRun) async throws -> Turn {
    let fanOut = run.tally.fanOut
    guard fanOut.isShort else { return .now }
    if hasRoom(for: fanOut) {
      begin(run)
      return .now
    }
    guard waiting.count < Self.maximumWaiting else { return .putOff }
    run.leavePlace()
    guard !isStopped else { throw RetryUntilStopped.Stopped() }
    await withCheckedContinuation { waiting.append(Waiter(run: run, continuation: $0)) }
    guard !isStopped else { throw RetryUntilStopped.Stopped() }
    return .later
  }

  /// Whether more segments of an event would only wait: some of it do, or nobody else can.
  func holdsUp(_ event: Event) -> Bool {
    waiting.count >= Self.maximumWaiting || waiting.contains { $0.run.segment.event.id == event.id }
  }

  /// The run has ended, whether or not it was limited.
  func end(_ run: SegmentRun) {
    guard let index = working.firstIndex(where: { $0 === run }) else { return }
    working.remove(at: index)
    goOn()
  }

  /// Runs that a limit has begun to hold up give up their places, and whoever is held up no longer
  /// goes on. Called now and then.
  func look(at runs: [SegmentRun]) {
    goOn()
    for run in runs where run.hasPlace && run.tally.fanOut.isShort && hasRoom(for: run.tally.fanOut)
    {
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
    run.leavePlace()
  }

  private func hasRoom(for fanOut: FanOut) -> Bool {
    guard working.count < Self.maximum else { return false }
    if fanOut.isSmall || !fanOut.isShort { return true }
    return working.count { !$0.tally.fanOut.isSmall } < Self.maximumOfLarge
      && count(of: fanOut) < Self.maximumOfOne
  }

  private func count(of fanOut: FanOut) -> Int { working.count { $0.tally.fanOut === fanOut } }

  /// Whoever may go now: small ones first, then those of whom least is under way, then who waits
  /// longest.
  private func goOn() {
    while let index = next {
      let waiter = waiting.remove(at: index)
      begin(waiter.run)
      waiter.continuation.resume()
    }
  }

  private var next: Int? {
    waiting.indices.filter { hasRoom(for: waiting[$0].fanOut) }
      .min { rank(waiting[$0].fanOut) < rank(waiting[$1].fanOut) }
  }

  private func rank(_ fanOut: FanOut) -> Int { fanOut.isSmall ? -1 : count(of: fanOut) }
}
