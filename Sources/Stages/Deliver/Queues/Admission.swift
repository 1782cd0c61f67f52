import EventLoop
import Model

/// Backpressure: batches wait here while the queues of their routes are full. Confined to its
/// lane's loop.
final class Admission {
  /// A batch that asks for capacity.
  private struct Demand {
    /// Numbers of routes.
    let routes: Set<UInt16>
    let topic: String
    let fanOut: FanOut
    let mayStraggle: Bool
  }

  private let options: DeliverOptions
  private let loop: EventLoop
  private let routes: LaneRoutes
  /// Each is resumed with the routes that were waited for in the end.
  private var waiting: [(demand: Demand, continuation: CheckedContinuation<Set<UInt16>, Never>)] =
    []
  /// Routes to which a batch that waited is on its way.
  private var admitting: Set<UInt16> = []
  private var isStopped = false

  init(options: DeliverOptions, routes: LaneRoutes, loop: EventLoop) {
    self.options = options
    self.loop = loop
    self.routes = routes
    for route in routes.all { listen(to: route) }
    routes.whenMade = { [weak self] in self?.listen(to: $0) }
  }

  private func listen(to route: Route) {
    route.signals.whenReadyMayHaveShrunk = { [weak self] in self?.admitWaiting() }
  }

  /// Ends every wait.
  func stop() {
    isStopped = true
    let waiting = waiting
    self.waiting = []
    for waiter in waiting { waiter.continuation.resume(returning: waiter.demand.routes) }
  }

  /// Queues a sealed batch when there is capacity.
  func admit(_ batch: PushBatch) async {
    guard !isStopped else { return }
    let (order, isComplete) = routes.assign(batch, at: loop.now)
    let demand = Demand(
      routes: Set(order), topic: batch.headers.topic, fanOut: batch.tally.fanOut,
      mayStraggle: batch.tally.mayStraggle)
    for number in order { routes[number]?.expectedBatches += 1 }
    var awaited = self.awaited(demand, waitingAlone: waiting.count { waitsAlone($0.demand) })
    if mustWait(awaited, demand) {
      awaited = await withCheckedContinuation { waiting.append((demand, $0)) }
      admitting.subtract(awaited)
    }
    for number in order {
      routes[number]?.append(batch, surplusLeaves: !awaited.contains(number))
      routes[number]?.expectedBatches -= 1
    }
    if !isComplete { turnAway(batch) }
    admitWaiting()
  }

  private static let noRoom = "there are more push services than a lane may have, or try, at once"

  /// Pushes without a route have their outcome, or leave their segment.
  private func turnAway(_ batch: PushBatch) {
    if batch.tally.obstacle == nil, batch.entries.contains(where: { $0.route == LaneRoutes.noRoom })
    {
      batch.tally.obstacle = Self.noRoom
    }
    for (index, entry) in batch.entries.enumerated() {
      switch entry.route {
      case LaneRoutes.none: batch.settle(index, .rejected(.noRoute))
      case LaneRoutes.noRoom: batch.postpone(index, history: entry.history)
      default: continue
      }
    }
  }

  /// Of the routes that a batch has pushes for, those that it waits for:
  /// - stragglers wait for all of them, however long it takes;
  /// - no batch waits where its fan-out is an outlier;
  /// - if some routes are fast, it waits for these: pushes that are too many for a slow one leave
  ///   their segment;
  /// - if all are slow, `waitersForSlow` batches wait, which keeps the routes busy. More would take
  ///   the slots of segments that need not wait.
  ///
  /// - Parameter waitingAlone: such batches that wait before this one.
  private func awaited(_ demand: Demand, waitingAlone: Int) -> Set<UInt16> {
    guard demand.mayStraggle else { return demand.routes }
    let candidates = demand.routes.filter {
      routes[$0]?.queue.outliers.contains(demand.fanOut) != true
    }
    let fast = candidates.filter { routes[$0]?.congestion.yields != true }
    if !fast.isEmpty { return fast }
    return waitingAlone < options.waitersForSlow ? candidates : []
  }

  private func waitsAlone(_ demand: Demand) -> Bool {
    demand.mayStraggle && demand.routes.allSatisfy { routes[$0]?.congestion.yields == true }
  }

  /// Batches of a fan-out wait for each other; those of another have a share of their own.
  private func mustWait(_ awaited: Set<UInt16>, _ demand: Demand) -> Bool {
    isFull(awaited, demand) || !admitting.isDisjoint(with: awaited)
      || waiting.contains { other, _ in
        other.fanOut === demand.fanOut
          && !self.awaited(other, waitingAlone: 0).isDisjoint(with: awaited)
      }
  }

  private func isFull(_ numbers: Set<UInt16>, _ demand: Demand) -> Bool {
    numbers.contains { routes[$0]?.isFull(for: demand.topic, of: demand.fanOut) ?? false }
  }

  /// Admits the batch that waited longest for each route, of those whose fan-out has capacity. One
  /// at a time, since each may fill the queue; it calls this again when it is queued.
  private func admitWaiting() {
    guard !waiting.isEmpty else { return }
    var busy: [ObjectIdentifier: Set<UInt16>] = [:]
    var alone = 0
    waiting.removeAll { demand, continuation in
      let awaited = awaited(demand, waitingAlone: alone)
      if waitsAlone(demand) { alone += 1 }
      let earlier = busy[ObjectIdentifier(demand.fanOut), default: []]
      busy[ObjectIdentifier(demand.fanOut)] = earlier.union(awaited)
      guard earlier.isDisjoint(with: awaited), admitting.isDisjoint(with: awaited),
        !isFull(awaited, demand)
      else { return false }
      admitting.formUnion(awaited)
      continuation.resume(returning: awaited)
      return true
    }
  }

  /// Called now and then. A route that holds up its own pushes must not hold up those of others.
  /// Where it is the only one, or all are slow, batches wait for it: that keeps memory bounded, and
  /// Kafka free of records that would have to be read again.
  func tick(at now: UInt64) {
    for route in routes.all {
      route.congestion.observe(isConnected: route.pool.slots.openCount > 0, at: now)
    }
    for route in routes.all {
      route.congestion.set(
        othersGoOn: routes.all.contains { $0 !== route && $0.congestion.goesOn(at: now) })
    }
    admitWaiting()
  }
}
