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
    /// Too many wait.
    case never
  }

  private struct Waiter {
    let fanOut: FanOut
    /// Nil for the plan of the segments to come.
    let run: SegmentRun?
    let continuation: CheckedContinuation<Void, Never>
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
    if !hasWaiting(like: fanOut), hasRoom(for: fanOut) {
      begin(run)
      return .now
    }
    guard waiting.count < Self.maximumWaiting else { return .never }
    run.leavePlace()
    try await wait(fanOut, run)
    return .later
  }

  /// Returns when none of a fan-out's segments waits here: only then more of them are of use.
  /// - Parameter vacate: called before it waits.
  func waitForSegments(of fanOut: FanOut, _ vacate: () -> Void) async throws {
    guard waiting.contains(where: { $0.fanOut === fanOut }) else { return }
    vacate()
    try await wait(fanOut, nil)
  }

  /// The run has ended, whether or not it was limited.
  func end(_ run: SegmentRun) {
    guard let index = working.firstIndex(where: { $0 === run }) else { return }
    working.remove(at: index)
    goOn()
  }

  /// Runs that a limit has begun to hold up give up their places.
  func leavePlaces(of runs: [SegmentRun]) {
    for run in runs where run.hasPlace && run.tally.fanOut.isShort {
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

  private func wait(_ fanOut: FanOut, _ run: SegmentRun?) async throws {
    guard !isStopped else { throw RetryUntilStopped.Stopped() }
    await withCheckedContinuation {
      waiting.append(Waiter(fanOut: fanOut, run: run, continuation: $0))
    }
    guard !isStopped else { throw RetryUntilStopped.Stopped() }
  }

  private func begin(_ run: SegmentRun) {
    working.append(run)
    run.leavePlace()
  }

  private func hasWaiting(like fanOut: FanOut) -> Bool {
    waiting.contains { $0.fanOut === fanOut || $0.fanOut.isSmall == fanOut.isSmall }
  }

  private func hasRoom(for fanOut: FanOut) -> Bool {
    guard working.count < Self.maximum else { return false }
    if fanOut.isSmall { return true }
    return working.count { !$0.tally.fanOut.isSmall } < Self.maximumOfLarge
      && count(of: fanOut) < Self.maximumOfOne
  }

  private func count(of fanOut: FanOut) -> Int { working.count { $0.tally.fanOut === fanOut } }

  /// Whoever may go now: small ones first, then those of whom least is under way, then who waits
  /// longest.
  private func goOn() {
    while let index = next {
      let waiter = waiting.remove(at: index)
      if let run = waiter.run { begin(run) }
      waiter.continuation.resume()
    }
  }

  private var next: Int? {
    let ready = waiting.indices.filter { index in
      let waiter = waiting[index]
      // A plan follows the segments that came before it.
      return waiter.run == nil
        ? waiting[..<index].allSatisfy { $0.fanOut !== waiter.fanOut } : hasRoom(for: waiter.fanOut)
    }
    return ready.min { rank(waiting[$0].fanOut) < rank(waiting[$1].fanOut) }
  }

  private func rank(_ fanOut: FanOut) -> Int { fanOut.isSmall ? -1 : count(of: fanOut) }
}
