import EventLoop
import Model

/// Pushes that were in flight on a connection that was lost. One of them may be why, so that they
/// go on probe connections: those that were lost once with some others, then with fewer, then alone
/// on a new connection. Who was lost least goes first. Its bound is the route's, `waitingPushes`.
struct ProbeQueue {
  /// Pushes that go together after so many losses. With a push for which a server closes
  /// connections nine others are sent once more than they need be. Larger groups resend more; with
  /// smaller ones it takes longer to resend what a server lost that restarted.
  static let together = [1: 8, 2: 3]
  static let most = together.values.max() ?? 1

  /// By the size of their groups, the largest first.
  private var queues: [(size: Int, pushes: Queue<ReadyPush>)] =
    (together.values.sorted(by: >) + [1]).map { ($0, Queue()) }

  var count: Int { queues.reduce(0) { $0 + $1.pushes.count } }

  mutating func append(_ push: ReadyPush) {
    let size = Self.together[Int(push.history.losses)] ?? 1
    let index = queues.firstIndex { $0.size == size } ?? queues.count - 1
    queues[index].pushes.append(push)
  }

  /// Whether the next goes alone.
  var isNextAlone: Bool { queues.first { !$0.pushes.isEmpty }?.size == 1 }

  /// The next that go together.
  mutating func next(atMost limit: Int) -> [ReadyPush] {
    guard let index = queues.firstIndex(where: { !$0.pushes.isEmpty }) else { return [] }
    var group: [ReadyPush] = []
    while group.count < min(queues[index].size, limit), let push = queues[index].pushes.popFirst() {
      group.append(push)
    }
    return group
  }

  mutating func take(where isWanted: (ReadyPush) -> Bool) -> [ReadyPush] {
    var taken: [ReadyPush] = []
    for index in queues.indices where !queues[index].pushes.isEmpty {
      queues[index].pushes.remove { push in
        guard isWanted(push) else { return false }
        taken.append(push)
        return true
      }
    }
    return taken
  }
}
