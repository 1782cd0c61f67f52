import EventLoop
import Model

/// Backpressure: who waits for room in the queues of which routes.
extension DeliverStage {
  private static let lookInterval: Duration = .milliseconds(100)

  /// A batch that waits for room.
  struct Waiter {
    let environments: Set<APNsEnvironment>
    let topic: String
    let mayStraggle: Bool
    /// Told what was waited for in the end.
    let continuation: CheckedContinuation<Set<APNsEnvironment>, Never>
  }

  /// Queues a sealed batch, after waiting until fewer than `readyPushes` wait for a stream of each
  /// environment that it has pushes for, in the order of the calls. This is where backpressure
  /// begins: who waits here reads no further page. Nobody waits for an environment or topic that
  /// cannot be sent to, nor, on the way to another, for one that is slow. Each push gets its
  /// outcome through the batch, or leaves it as a straggler.
  package func admit(_ batch: PushBatch) async {
    let environments = Set(routes.keys.filter { batch.hasPushes(for: $0) })
    let topic = batch.headers.topic
    let mayStraggle = batch.tally.mayStraggle
    var awaited = environments
    if !isStopped {
      awaited = self.awaited(environments, mayStraggle, waitingAlone: waitingAlone)
      if mustWait(awaited, topic) {
        awaited = await withCheckedContinuation {
          waiting.append(
            Waiter(
              environments: environments, topic: topic, mayStraggle: mayStraggle, continuation: $0))
        }
        admitting.subtract(awaited)
      }
    }
    for environment in environments {
      routes[environment]?.append(batch, surplusLeaves: !awaited.contains(environment))
    }
    if batch.unsettled > 0 { rejectUnroutable(batch) }
    admitWaiting()
    if !isLooking { lookSoon() }
  }

  /// Of the environments that a batch has pushes for, those that it waits for. Good ones, where
  /// there are any: what is then too much for a slow one leaves its segment. Of the batches that
  /// have pushes for nothing else a few wait, which keeps the route busy; more would take up the
  /// places of segments that need not wait. Stragglers wait for their turn, however long it takes.
  ///
  /// - Parameter waitingAlone: such batches that wait before this one.
  private func awaited(
    _ environments: Set<APNsEnvironment>, _ mayStraggle: Bool, waitingAlone: Int
  ) -> Set<APNsEnvironment> {
    guard mayStraggle else { return environments }
    let good = environments.filter { routes[$0]?.yields != true }
    if !good.isEmpty { return good }
    return waitingAlone < options.waitersForSlow ? environments : []
  }

  private var waitingAlone: Int { waiting.count(where: waitsAlone) }

  private func waitsAlone(_ waiter: Waiter) -> Bool {
    waiter.mayStraggle && waiter.environments.allSatisfy { routes[$0]?.yields == true }
  }

  private func mustWait(_ environments: Set<APNsEnvironment>, _ topic: String) -> Bool {
    isFull(environments, topic) || !admitting.isDisjoint(with: environments)
      || waiting.contains { waiter in
        !awaited(waiter.environments, waiter.mayStraggle, waitingAlone: 0)
          .isDisjoint(with: environments)
      }
  }

  private func isFull(_ environments: Set<APNsEnvironment>, _ topic: String) -> Bool {
    environments.contains { routes[$0]?.isFull(for: topic) ?? false }
  }

  /// Lets in who waited longest for each environment. One at a time: each may bring a whole batch.
  /// It calls this again when it has.
  func admitWaiting() {
    guard !waiting.isEmpty else { return }
    var busy = admitting
    var alone = 0
    waiting.removeAll { waiter in
      let awaited = awaited(waiter.environments, waiter.mayStraggle, waitingAlone: alone)
      if waitsAlone(waiter) { alone += 1 }
      let mayGo = busy.isDisjoint(with: awaited)
      busy.formUnion(awaited)
      guard mayGo, !isFull(awaited, waiter.topic) else { return false }
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
      if readyCount > 0 || routes.values.contains(where: { $0.congestion.isLagging }) {
        lookSoon()
      }
    }
  }

  /// A route that holds up its own pushes must not hold up those of others. Where it is the only
  /// one, or all are slow, waiting is what keeps memory bounded and Kafka free of what would have
  /// to be read again.
  private func lookAtCongestion(_ now: UInt64) {
    for route in routes.values { route.lookAtCongestion(now) }
    for route in routes.values {
      let othersGoOn = routes.values.contains {
        $0 !== route && $0.isInUse(at: now) && !$0.congestion.isHoldingUp
      }
      route.set(lags: route.isLagging && othersGoOn, yields: route.isSlow && othersGoOn)
    }
  }
}
