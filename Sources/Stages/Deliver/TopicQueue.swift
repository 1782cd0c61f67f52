import Model

/// What a route has ready for one topic, and whether our credentials are taken for it.
final class TopicQueue {
  let name: String
  var queue: ReadyQueue
  var gate = CredentialGate()
  /// `SegmentTally.unsent` counts what is here: the route is open and credentials are not refused.
  var isOpen: Bool
  /// Shown to operators while credentials are refused.
  var obstacle: RouteObstacle?

  init(name: String, environment: APNsEnvironment, isOpen: Bool) {
    self.name = name
    self.isOpen = isOpen
    queue = ReadyQueue(environment: environment)
  }

  func canSend(at now: UInt64) -> Bool {
    queue.count > 0 && gate.allows(at: now, hasUntried: queue.hasOthers)
  }

  func next() -> ReadyPush? { queue.next(refusedFirst: gate.prefersRefused) }

  /// A push has left the queue, for a connection or for good.
  func left(_ push: ReadyPush) {
    if isOpen, push.isFirst { push.tally.noLongerUnsent() }
  }

  /// A push comes to the queue, again or from where it waited.
  func take(_ push: ReadyPush) {
    if isOpen, push.isFirst { push.tally.willSend(1) }
    undo(push)
  }

  /// Takes a push back that could not be handed over; nothing has changed for it.
  func undo(_ push: ReadyPush) {
    if push.history.refusals > 0 { queue.putAside(push) } else { queue.putBack(push) }
  }

  func setOpen(_ open: Bool) {
    guard open != isOpen else { return }
    isOpen = open
    for item in queue.firsts {
      if open { item.tally.willSend(item.count) } else { item.tally.noLongerUnsent(item.count) }
    }
  }

  /// Nothing is lost by forgetting it: no push is here, and what its refusals taught is old.
  func isForgettable(at now: UInt64) -> Bool {
    guard queue.count == 0 else { return false }
    guard let refused = gate.lastRefusedAt else { return true }
    let memory: Duration = gate.isRefused ? .seconds(3600) : .seconds(60)
    return now &- refused > memory.nanoseconds
  }
}
