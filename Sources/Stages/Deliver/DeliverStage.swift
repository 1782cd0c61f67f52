import EventLoop
import Model

/// The sending end of a lane: takes batches of rendered pushes, keeps Apple's streams full, and
/// settles each push with its outcome. Steps of a push: admit → wait for a stream → send → judge
/// the answer → settle, or wait out a back-off and again. Confined to its lane's loop.
package final class DeliverStage {
  private let options: DeliverOptions
  private let loop: EventLoop
  private let routes: [APNsEnvironment: Route]
  private var waiting: [CheckedContinuation<Void, Never>] = []
  /// The first of those that waited is on its way.
  private var isAdmitting = false
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
    for continuation in waiting { continuation.resume() }
  }

  /// Queues a sealed batch, after waiting until fewer than `readyPushes` wait for a stream, in the
  /// order of the calls. This is where backpressure begins: who waits here reads no further page.
  /// Each push gets its outcome through the batch.
  package func admit(_ batch: PushBatch) async {
    if mustWait {
      await withCheckedContinuation { waiting.append($0) }
      isAdmitting = false
    }
    var taken = 0
    for route in routes.values { taken += route.append(batch) }
    if taken < batch.entries.count { rejectUnroutable(batch) }
    admitWaiting()
  }

  private var mustWait: Bool {
    !isStopped && (readyCount >= options.readyPushes || isAdmitting || !waiting.isEmpty)
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

  private func admitWaiting() {
    // One at a time: each may bring a whole batch. It calls this again when it has.
    guard !waiting.isEmpty, !isAdmitting, readyCount < options.readyPushes else { return }
    isAdmitting = true
    waiting.removeFirst().resume()
  }

  private func tick() {
    for route in routes.values { route.tick() }
    admitWaiting()
    ticker = loop.schedule(after: Self.tickInterval) { [weak self] in self?.tick() }
  }
}
