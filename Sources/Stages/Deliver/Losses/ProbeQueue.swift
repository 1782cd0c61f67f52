import EventLoop
import Model

/// Pushes that were in flight on a connection that was lost. One of them may be why, so that they
/// go on probe connections: those that were lost once with some others, then with fewer, then alone
/// on a new connection. Who was lost least goes first. Its bound is the route's, `waitingPushes`.
struct ProbeQueue {
  /// How many go together that were lost once, twice, or more often. If a server closes connections
  /// for one push, the seven others of its first group and the two of its second are sent once more
  /// than needed. Larger groups resend more; with smaller ones it takes longer to resend what a
  /// server lost that restarted.
  private static let sizes = [most, 3, 1]
  static let most = LossWindow.floor

  /// One for each size.
  private var queues = sizes.map { _ in Queue<ReadyPush>() }

  var count: Int { queues.reduce(0) { $0 + $1.count } }
  /// The queue of those that go next.
  private var first: Int? { queues.firstIndex { !$0.isEmpty } }

  mutating func append(_ push: ReadyPush) {
    queues[min(max(Int(push.history.losses), 1), queues.count) - 1].append(push)
  }

  /// Whether the next goes alone.
  var isNextAlone: Bool { first == queues.count - 1 }

  /// The next that go together.
  mutating func next(atMost limit: Int) -> [ReadyPush] {
    guard let first else { return [] }
    var group: [ReadyPush] = []
    while group.count < min(Self.sizes[first], limit), let push = queues[first].popFirst() {
      group.append(push)
    }
    return group
  }

  mutating func take(where isWanted: (ReadyPush) -> Bool) -> [ReadyPush] {
    var taken: [ReadyPush] = []
    for index in queues.indices {
      queues[index].remove { push in
        guard isWanted(push) else { return false }
        taken.append(push)
        return true
      }
    }
    return taken
  }
}
