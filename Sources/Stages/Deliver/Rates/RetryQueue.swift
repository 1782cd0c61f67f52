import EventLoop
import Model

/// Pushes that wait out a back-off, earliest first. Where more of a fan-out are due than may come
/// back, the others are held here. Its bound is the route's, `waitingPushes`.
struct RetryQueue {
  /// Those of one fan-out, in the order in which they were due.
  private struct Held {
    let fanOut: FanOut
    var pushes = Queue<ReadyPush>()

    func isNext(_ matches: (ReadyPush) -> Bool) -> Bool { pushes.first.map(matches) ?? false }
  }

  private var pushes = DueHeap<ReadyPush>()
  private var held: [Held] = []
  private var heldCount = 0

  var count: Int { pushes.count + heldCount }
  /// Monotonic nanoseconds; of those that are not held.
  var nextDue: UInt64? { pushes.nextDue }

  mutating func append(_ push: ReadyPush, due: UInt64) { pushes.insert(push, due: due) }

  /// - Parameter mayGo: whether one more push of its fan-out may come back.
  mutating func popDue(
    at now: UInt64, mayGo: (ReadyPush) -> Bool = { _ in true }
  ) -> ReadyPush? {
    if let index = held.firstIndex(where: { $0.isNext(mayGo) }),
      let push = unhold(index)
    {
      return push
    }
    while let push = pushes.popFirst(dueAt: now) {
      let index = heldCount > 0 ? held.firstIndex { $0.fanOut === push.tally.fanOut } : nil
      if index == nil, mayGo(push) { return push }
      if index == nil { held.append(Held(fanOut: push.tally.fanOut)) }
      held[index ?? held.count - 1].pushes.append(push)
      heldCount += 1
    }
    return nil
  }

  /// Fan-outs of which some are held.
  func heldFanOuts(where isCounted: (FanOut) -> Bool) -> Int {
    held.count { isCounted($0.fanOut) }
  }

  /// Whether one that is held may come back.
  func hasHeld(_ mayGo: (ReadyPush) -> Bool) -> Bool {
    held.contains { $0.isNext(mayGo) }
  }

  func contains(_ tally: SegmentTally) -> Bool {
    pushes.contains { $0.tally === tally }
      || held.contains { held in
        held.fanOut === tally.fanOut && held.pushes.contains { $0.tally === tally }
      }
  }

  /// Takes out the pushes of one segment.
  mutating func take(of tally: SegmentTally) -> [ReadyPush] {
    pushes.take { $0.tally === tally } + takeHeld { $0.tally === tally }
  }

  /// Takes out those that are held and whose event has expired at `milliseconds` since 1970. The
  /// others are due when it has.
  mutating func takeExpired(at milliseconds: Int64) -> [ReadyPush] {
    takeHeld { $0.batch.headers.expiresAt <= milliseconds }
  }

  private mutating func takeHeld(where isWanted: (ReadyPush) -> Bool) -> [ReadyPush] {
    guard heldCount > 0 else { return [] }
    var taken: [ReadyPush] = []
    for index in held.indices {
      held[index].pushes.remove { push in
        guard isWanted(push) else { return false }
        taken.append(push)
        return true
      }
    }
    held.removeAll { $0.pushes.isEmpty }
    heldCount -= taken.count
    return taken
  }

  /// Fan-outs take turns.
  private mutating func unhold(_ index: Int) -> ReadyPush? {
    var line = held.remove(at: index)
    guard let push = line.pushes.popFirst() else { return nil }
    heldCount -= 1
    if !line.pushes.isEmpty { held.append(line) }
    return push
  }
}
