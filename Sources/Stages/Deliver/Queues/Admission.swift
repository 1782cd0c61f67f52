import EventLoop
import Model

/// Backpressure: who waits for room in the queues of which routes. Confined to its lane's loop.
final class Admission {
  private static let lookInterval: Duration = .milliseconds(100)

  /// A batch that waits for room.
  private struct Waiter {
    let names: Set<RouteName>
    let topic: String
    let fanOut: FanOut
    let mayStraggle: Bool
    /// Told what was waited for in the end.
    let continuation: CheckedContinuation<Set<RouteName>, Never>
  }

  private let options: DeliverOptions
  private let credentials: AppCredentials
  private let routes: LaneRoutes
  private let loop: EventLoop
  private var waiting: [Waiter] = []
  /// Routes for which one that waited is on its way.
  private var admitting: Set<RouteName> = []
  /// Routes are looked at again soon.
  private var isLooking = false
  private var isStopped = false

  init(
    options: DeliverOptions, credentials: AppCredentials, routes: LaneRoutes,
    loop: EventLoop
  ) {
    self.options = options
    self.credentials = credentials
    self.routes = routes
    self.loop = loop
    for route in routes.all {
      route.whenReadyMayHaveShrunk = { [weak self] in self?.admitWaiting() }
    }
  }

  /// Nobody waits any more.
  func stop() {
    isStopped = true
    let waiting = waiting
    self.waiting = []
    for waiter in waiting { waiter.continuation.resume(returning: waiter.names) }
  }

  /// Queues a sealed batch when there is room.
  func admit(_ batch: PushBatch) async {
    let topic = batch.headers.topic
    let destinations = Destination.all.filter(batch.hasPushes)
    let order = destinations.compactMap { destination in
      credentials.index(of: topic, on: destination.platform.name)
        .map { RouteName(destination: destination, credentials: $0) }
    }.filter { routes[$0] != nil }
    let names = Set(order)
    let fanOut = batch.tally.fanOut
    let mayStraggle = batch.tally.mayStraggle
    var awaited = names
    if !isStopped {
      awaited = self.awaited(names, fanOut, mayStraggle, waitingAlone: waitingAlone)
      if mustWait(awaited, topic, fanOut) {
        awaited = await withCheckedContinuation {
          waiting.append(
            Waiter(
              names: names, topic: topic, fanOut: fanOut, mayStraggle: mayStraggle,
              continuation: $0))
        }
        admitting.subtract(awaited)
      }
    }
    for name in order {
      routes[name]?.append(batch, surplusLeaves: !awaited.contains(name))
    }
    if order.count < destinations.count { rejectUnroutable(batch, routed: names) }
    admitWaiting()
    if !isLooking { lookSoon() }
  }

  private func rejectUnroutable(_ batch: PushBatch, routed: Set<RouteName>) {
    let routed = Set(routed.map(\.destination))
    for (index, entry) in batch.entries.enumerated() where !routed.contains(entry.destination) {
      batch.settle(index, .rejected(.noRoute))
    }
  }

  /// Of the routes that a batch has pushes for, those that it waits for. Good ones, where
  /// there are any: what is then too much for a slow one leaves its segment. Of the batches that
  /// have pushes for nothing else a few wait, which keeps the route busy; more would take up the
  /// places of segments that need not wait. Where a fan-out gets nowhere none of its batches waits.
  /// Stragglers wait for their turn, however long it takes.
  ///
  /// - Parameter waitingAlone: such batches that wait before this one.
  private func awaited(
    _ names: Set<RouteName>, _ fanOut: FanOut, _ mayStraggle: Bool, waitingAlone: Int
  ) -> Set<RouteName> {
    guard mayStraggle else { return names }
    let hopeful = names.filter { routes[$0]?.isStuck(fanOut) != true }
    let good = hopeful.filter { routes[$0]?.yields != true }
    if !good.isEmpty { return good }
    return waitingAlone < options.waitersForSlow ? hopeful : []
  }

  private func awaited(_ waiter: Waiter, waitingAlone: Int) -> Set<RouteName> {
    awaited(
      waiter.names, waiter.fanOut, waiter.mayStraggle, waitingAlone: waitingAlone)
  }

  private var waitingAlone: Int { waiting.count(where: waitsAlone) }

  private func waitsAlone(_ waiter: Waiter) -> Bool {
    waiter.mayStraggle && waiter.names.allSatisfy { routes[$0]?.yields == true }
  }

  /// Batches of a fan-out wait for each other; those of another have a share of their own.
  private func mustWait(
    _ names: Set<RouteName>, _ topic: String, _ fanOut: FanOut
  ) -> Bool {
    isFull(names, topic, fanOut) || !admitting.isDisjoint(with: names)
      || waiting.contains { waiter in
        waiter.fanOut === fanOut
          && !awaited(waiter, waitingAlone: 0).isDisjoint(with: names)
      }
  }

  private func isFull(
    _ names: Set<RouteName>, _ topic: String, _ fanOut: FanOut
  ) -> Bool {
    names.contains { routes[$0]?.isFull(for: topic, of: fanOut) ?? false }
  }

  /// Lets in who waited longest for each route, of those whose fan-out has room. One at a
  /// time: each may bring a whole batch. It calls this again when it has.
  func admitWaiting() {
    guard !waiting.isEmpty else { return }
    var busy: [ObjectIdentifier: Set<RouteName>] = [:]
    var alone = 0
    waiting.removeAll { waiter in
      let awaited = awaited(waiter, waitingAlone: alone)
      if waitsAlone(waiter) { alone += 1 }
      let earlier = busy[ObjectIdentifier(waiter.fanOut), default: []]
      busy[ObjectIdentifier(waiter.fanOut)] = earlier.union(awaited)
      guard earlier.isDisjoint(with: awaited), admitting.isDisjoint(with: awaited),
        !isFull(awaited, waiter.topic, waiter.fanOut)
      else { return false }
      admitting.formUnion(awaited)
      waiter.continuation.resume(returning: awaited)
      return true
    }
  }

  /// Goes on while it may find something new.
  private func lookSoon() {
    isLooking = true
    loop.schedule(after: Self.lookInterval) { [weak self] in
      guard let self, !isStopped else { return }
      isLooking = false
      lookAtCongestion(loop.now)
      admitWaiting()
      if routes.all.contains(where: { $0.readyCount > 0 || $0.wasLagging }) {
        lookSoon()
      }
    }
  }

  /// A route that holds up its own pushes must not hold up those of others. Where it is the only
  /// one, or all are slow, waiting is what keeps memory bounded and Kafka free of what would have
  /// to be read again.
  private func lookAtCongestion(_ now: UInt64) {
    for route in routes.all { route.lookAtCongestion(now) }
    for route in routes.all {
      let othersGoOn = routes.all.contains {
        $0 !== route && $0.isInUse(at: now) && !$0.isHoldingUp
      }
      route.set(lags: route.isLagging && othersGoOn, yields: route.isSlow && othersGoOn)
    }
  }
}
