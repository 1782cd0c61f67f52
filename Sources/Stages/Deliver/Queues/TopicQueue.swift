import Model

/// What a route has ready for one topic, and whether our credentials are taken for it.
final class TopicQueue {
  let name: String
  var queue: ReadyQueue
  var gate = CredentialGate()
  private let stuck: StuckFanOuts
  /// What is here can be sent: the route is open and credentials are not refused.
  private(set) var isOpen: Bool
  /// The route lags behind others: segments do not keep their places for what is here.
  private(set) var lags = false
  /// Shown to operators while credentials are refused.
  var obstacle: RouteObstacle?

  init(name: String, destination: Destination, isOpen: Bool, stuck: StuckFanOuts) {
    self.name = name
    self.isOpen = isOpen
    self.stuck = stuck
    queue = ReadyQueue(destination: destination, stuck: stuck)
  }

  func canSend(at now: UInt64) -> Bool {
    queue.count > 0 && gate.allows(at: now, hasUntried: queue.hasOthers) && queue.mayGo
  }

  /// What is sent next; one push at a time while credentials are in doubt.
  /// - Parameter turn: pushes of a fan-out before it is another's turn.
  func upcoming(atMost limit: Int, turn: Int = RouteTopics.pushesPerTurn) -> ReadyRun? {
    queue.upcoming(
      atMost: gate.isOpen ? limit : 1, refusedFirst: gate.prefersRefused, turn: turn)
  }

  /// Pushes have left the queue, for a connection or for good.
  /// - Parameter push: one of them; the others are of the same batch and have been through as much.
  func left(_ push: ReadyPush, count: Int = 1) {
    if push.isFirst, counts(push.tally) { push.tally.noLongerUnsent(count) }
  }

  /// A push comes to the queue, again or from where it waited.
  func take(_ push: ReadyPush) {
    if push.isFirst, counts(push.tally) { push.tally.willSend(1) }
    undo(push)
  }

  /// Takes a push back that could not be handed over; nothing has changed for it.
  func undo(_ push: ReadyPush) {
    if push.history.refusals > 0 { queue.putAside(push) } else { queue.putBack(push) }
  }

  /// Whether `SegmentTally.unsent` counts what a segment has here.
  func counts(_ tally: SegmentTally) -> Bool {
    isOpen && !(tally.mayStraggle && (lags || stuck.contains(tally.fanOut)))
  }

  func set(open: Bool, lags: Bool) {
    guard open != isOpen || lags != self.lags else { return }
    let before = firsts
    isOpen = open
    self.lags = lags
    count(since: before)
  }

  /// What was not sent since it was admitted, and whether it counts.
  struct Firsts {
    let tally: SegmentTally
    let count: Int
    let areCounted: Bool
  }

  var firsts: [Firsts] {
    queue.firsts.map { Firsts(tally: $0.tally, count: $0.count, areCounted: counts($0.tally)) }
  }

  /// Something has changed of what decides whether it counts.
  func count(since before: [Firsts]) {
    for firsts in before where firsts.areCounted != counts(firsts.tally) {
      if firsts.areCounted {
        firsts.tally.noLongerUnsent(firsts.count)
      } else {
        firsts.tally.willSend(firsts.count)
      }
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
