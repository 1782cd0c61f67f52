import EventLoop
import Model

/// The sending end of a lane: takes batches of rendered pushes, keeps Apple's streams full, and
/// settles each push with its outcome. Steps of a push: admit → wait for a stream → send → judge
/// the answer → settle, or wait out a back-off and again. Confined to its lane's loop.
package final class DeliverStage {
  private let options: DeliverOptions
  private let loop: EventLoop
  private let routes: [APNsEnvironment: Route]
  private var waiting: [Waiter] = []
  /// Routes for which one that waited is on its way.
  private var admitting: Set<APNsEnvironment> = []
  private var ticker: LoopTimer?
  private var isStopped = false
  private static let tickInterval: Duration = .milliseconds(500)

  package init(
    options: DeliverOptions, tokens: ProviderTokenSource, loop: EventLoop,
    random: any RandomNumberGenerator = SystemRandomNumberGenerator()
  ) {
    self.options = options
    self.loop = loop
    routes = options.routes.reduce(into: [:]) { routes, item in
      routes[item.key] = Route(
        environment: item.key, target: item.value, options: options, tokens: tokens, loop: loop,
        random: random)
    }
    for route in routes.values {
      route.whenReadyMayHaveShrunk = { [weak self] in self?.admitWaiting() }
    }
  }

  /// Connects. Pushes may be admitted before a connection is open; they wait.
  ///
  /// The sandbox is connected to by its first push: most deployments never have one.
  package func start() {
    routes[.production]?.start()
    tick()
  }

  /// Closes every connection. What has no outcome by then stays unsettled: its segment is done by
  /// another.
  package func stop() {
    isStopped = true
    ticker?.cancel()
    for route in routes.values { route.stop() }
    let waiting = waiting
    self.waiting = []
    for waiter in waiting { waiter.continuation.resume() }
  }

  // MARK: admission

  private struct Waiter {
    let environments: Set<APNsEnvironment>
    let topic: String
    let continuation: CheckedContinuation<Void, Never>
  }

  /// Queues a sealed batch, after waiting until fewer than `readyPushes` wait for a stream of each
  /// environment that it has pushes for, in the order of the calls. This is where backpressure
  /// begins: who waits here reads no further page. Nobody waits for an environment or topic that
  /// cannot be sent to. Each push gets its outcome through the batch, or leaves it as a straggler.
  package func admit(_ batch: PushBatch) async {
    let environments = Set(routes.keys.filter { batch.hasPushes(for: $0) })
    let topic = batch.headers.topic
    if !isStopped, mustWait(environments, topic) {
      await withCheckedContinuation {
        waiting.append(Waiter(environments: environments, topic: topic, continuation: $0))
      }
      admitting.subtract(environments)
    }
    for environment in environments { routes[environment]?.append(batch) }
    if batch.unsettled > 0 { rejectUnroutable(batch) }
    admitWaiting()
  }

  private func mustWait(_ environments: Set<APNsEnvironment>, _ topic: String) -> Bool {
    isFull(environments, topic) || !admitting.isDisjoint(with: environments)
      || waiting.contains { !$0.environments.isDisjoint(with: environments) }
  }

  private func isFull(_ environments: Set<APNsEnvironment>, _ topic: String) -> Bool {
    environments.contains { routes[$0]?.isFull(for: topic) ?? false }
  }

  /// Lets in who waited longest for each environment. One at a time: each may bring a whole batch.
  /// It calls this again when it has.
  private func admitWaiting() {
    guard !waiting.isEmpty else { return }
    var busy = admitting
    waiting.removeAll { waiter in
      let mayGo = busy.isDisjoint(with: waiter.environments)
      busy.formUnion(waiter.environments)
      guard mayGo, !isFull(waiter.environments, waiter.topic) else { return false }
      admitting.formUnion(waiter.environments)
      waiter.continuation.resume()
      return true
    }
  }

  private func rejectUnroutable(_ batch: PushBatch) {
    for (index, entry) in batch.entries.enumerated() where routes[entry.environment] == nil {
      batch.settle(index, .rejected(.noRoute))
    }
  }

  /// Pushes that wait for a stream.
  package var readyCount: Int { routes.values.reduce(0) { $0 + $1.readyCount } }
  /// Streams in flight.
  package var inFlight: Int { routes.values.reduce(0) { $0 + $1.inFlight } }
  package var openConnections: Int { routes.values.reduce(0) { $0 + $1.openConnections } }

  /// What keeps pushes from being sent; empty when all is well.
  package var obstacles: [RouteObstacle] { routes.values.flatMap(\.obstacles) }

  // MARK: a segment's end

  /// Takes out what of a segment only waits: for another try, for a connection, for credentials.
  /// Each such push leaves its batch as a straggler. What can be sent and what is in flight stays.
  package func postponeWaiting(of tally: SegmentTally) {
    for route in routes.values { route.postponeWaiting(of: tally) }
  }

  /// Whether a segment waits for nothing but a route that is closed: that may take long.
  package func waitsForClosedRoute(_ tally: SegmentTally) -> Bool {
    routes.values.contains { $0.parks(tally) } && !routes.values.contains { $0.retries(tally) }
  }

  /// Another worker has the segment: none of its pushes is sent from here any more, and those in
  /// flight have no further try. Their batches never settle.
  package func abandon(_ tally: SegmentTally) {
    tally.sendableUntil = 0
    for route in routes.values { route.abandon(tally) }
  }

  private func tick() {
    for route in routes.values { route.tick() }
    admitWaiting()
    ticker = loop.schedule(after: Self.tickInterval) { [weak self] in self?.tick() }
  }
}
