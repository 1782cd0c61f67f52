import Model

/// Pushes that were never answered in connections that were well. They endanger none, and go
/// together, with all the time that a request has: what answers late is accepted then. A pure
/// machine; times are monotonic nanoseconds.
struct SilentQueue {
  /// A segment of more pushes keeps much in memory until the last of them has its outcome.
  static let fewPushes = 64
  /// Such segments are waited for now and then; others' pushes leave as stragglers, which are a
  /// small segment of their own when they come back.
  private static let largePerBurst: UInt64 = 4
  private static let betweenLarge: UInt64 = 8_000_000_000

  private var pushes: [ReadyPush] = []
  private var usedUntil: UInt64 = 0
  /// Large segments that are waited for: more of their pushes cost nothing.
  private var waitedFor: [(segment: ObjectIdentifier, since: UInt64)] = []
  /// As long as they may be.
  private static let memory: UInt64 = 60_000_000_000
  /// None of those here may go before.
  private var blockedUntil: UInt64 = 0

  var count: Int { pushes.count }

  mutating func append(_ push: ReadyPush) {
    pushes.append(push)
    blockedUntil = 0
  }

  /// Those that go now.
  mutating func next(atMost limit: Int, at now: UInt64) -> [ReadyPush] {
    guard limit > 0, !pushes.isEmpty, now >= blockedUntil else { return [] }
    var taken: [ReadyPush] = []
    var left: [ReadyPush] = []
    var isRefused = false
    for push in pushes {
      let isSmall = !push.tally.mayStraggle || push.tally.pushes <= Self.fewPushes
      // What has left its segment waits for the segment's end: this one leaves it too.
      if taken.count == limit || !push.tally.stragglers.isEmpty {
        left.append(push)
      } else if isSmall || mayWait(for: push.tally, at: now) {
        taken.append(push)
      } else {
        left.append(push)
        isRefused = true
      }
    }
    pushes = left
    if taken.isEmpty, isRefused {
      blockedUntil = usedUntil - (Self.largePerBurst - 1) * Self.betweenLarge
    }
    return taken
  }

  private mutating func mayWait(for large: SegmentTally, at now: UInt64) -> Bool {
    waitedFor.removeAll { now &- $0.since > Self.memory }
    let segment = ObjectIdentifier(large)
    if waitedFor.contains(where: { $0.segment == segment }) { return true }
    let from = max(usedUntil, now)
    guard from - now <= (Self.largePerBurst - 1) * Self.betweenLarge else { return false }
    usedUntil = from + Self.betweenLarge
    waitedFor.append((segment, now))
    return true
  }

  mutating func take(where isWanted: (ReadyPush) -> Bool) -> [ReadyPush] {
    guard !pushes.isEmpty else { return [] }
    let taken = pushes.filter(isWanted)
    if !taken.isEmpty { pushes.removeAll(where: isWanted) }
    return taken
  }
}
