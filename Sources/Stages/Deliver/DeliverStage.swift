import EventLoop
import Model

/// The sending end of a lane: takes batches of rendered pushes, keeps the servers' streams full,
/// and settles each push with its outcome. Steps of a push: admit → wait for a stream → send →
/// judge the answer → settle, or retry after a back-off. Confined to its lane's loop.
package final class DeliverStage {
  private let loop: EventLoop
  private let credentials: AppCredentials
  let routes: LaneRoutes
  private let admission: Admission
  private var ticker: LoopTimer?
  private let tickInterval: Duration

  /// - Parameter randomNumber: any number, each time another.
  package init(
    options: DeliverOptions, credentials: AppCredentials, loop: EventLoop,
    randomNumber: @escaping () -> UInt64
  ) {
    self.loop = loop
    self.credentials = credentials
    tickInterval = options.tickInterval
    routes = LaneRoutes(options: options, credentials: credentials) {
      Route(
        RouteContext(
          number: $0, destination: $1, service: $2, name: $3, origin: $4, options: options,
          loop: loop, chance: randomNumber))
    }
    admission = Admission(options: options, routes: routes, loop: loop)
  }

  /// Connects. Pushes may be admitted before a connection is open; they wait.
  ///
  /// Any but the first destination of a platform is connected to by its first push: most
  /// deployments never have one. So is the first with the credentials of each app, where apps have
  /// their own.
  package func start() {
    for route in routes.all where route.isFirst {
      let platform = route.destination.platform.name
      if credentials.all.count(where: { $0.platform == platform }) == 1 {
        route.pool.start()
      }
    }
    tick()
  }

  /// Closes every connection. Pushes without an outcome stay unsettled: another worker does their
  /// segments.
  package func stop() {
    ticker?.cancel()
    for route in routes.all { route.stop() }
    admission.stop()
  }

  /// Queues a sealed batch, after waiting until fewer than `readyPushes` wait for a stream of each
  /// environment that it has pushes for, in the order of the calls. This is where backpressure
  /// begins: a segment that waits here reads no further page. No batch waits for an environment or
  /// topic that cannot be sent to, nor, on the way to another, for one that is slow. Each push gets
  /// its outcome through the batch, or leaves it as a straggler.
  package func admit(_ batch: PushBatch) async { await admission.admit(batch) }

  /// Pushes that wait for a stream.
  package var readyCount: Int { routes.all.reduce(0) { $0 + $1.queue.readyCount } }

  /// Of each platform that there are routes to, by its name.
  package var figures: [String: PlatformFigures] { routes.figures }

  package var obstacles: [RouteObstacle] { routes.all.flatMap(\.obstacles) }

  /// The limits of accounts; more may come with later pushes.
  package var limits: [PushLimit] { routes.all.compactMap(\.traffic.limit) }

  /// The limits of some fan-outs or accounts let more pushes go.
  package func limitsLetGo() { for route in routes.all { route.signals.schedulePump() } }

  // MARK: a segment's end

  /// Takes out the pushes of a segment that only wait: for another try, for a connection, for
  /// credentials. Each leaves its batch as a straggler. Pushes that can be sent, and those in
  /// flight, stay.
  package func postponeWaiting(of tally: SegmentTally) {
    for route in routes.all { route.waiting.postponeWaiting(of: tally) }
  }

  /// The worker stops soon, and a segment that is not settled by then is sent again from its
  /// beginning; or its fan-out is paused: all of it that is not in flight leaves.
  package func postponeAll(of tally: SegmentTally) {
    for route in routes.all { route.waiting.takeAll(of: tally, then: route.waiting.postpone) }
  }

  /// Its fan-out is cancelled: all of it that is not in flight has its outcome.
  package func settleAll(of tally: SegmentTally) {
    for route in routes.all {
      route.waiting.takeAll(of: tally) { $0.settleExpiredOrCancelled() }
    }
  }

  /// The worker stops soon: nothing more is sent, and pushes that come or would wait leave their
  /// segment.
  package func leave() { routes.leave() }

  /// After `leave`: pushes in flight leave too, as such that may have arrived.
  package func leaveInFlight() { for route in routes.all { route.pool.leaveInFlight() } }

  /// Whether a segment waits for nothing but a route that is closed: that may take long.
  package func waitsForClosedRoute(_ tally: SegmentTally) -> Bool {
    routes.all.contains { $0.waiting.parks(tally) }
      && !routes.all.contains { $0.waiting.retries(tally) }
  }

  /// Whether a push would only wait here now: nothing of its environment or topic can be sent. Of
  /// a platform with many servers that is so when it is so of all that are known.
  package func isClosed(_ route: PushRoute) -> Bool {
    let routes = routes.find(route)
    return !routes.isEmpty && routes.allSatisfy { $0.isClosed(for: route.topic) }
  }

  /// Whether pushes come faster than they are taken there, while others go on; of a platform with
  /// many servers also while one of these takes nothing.
  package func yields(_ route: PushRoute) -> Bool {
    let routes = routes.find(route)
    return routes.contains {
      $0.congestion.yields || routes.count > 1 && $0.isClosed(for: route.topic)
    }
  }

  /// Whether a fan-out is an outlier there: next to nothing of it is taken, so that its stragglers
  /// need not be tried all at once.
  package func isOutlier(_ fanOut: FanOut, on route: PushRoute) -> Bool {
    routes.find(route).contains { $0.queue.outliers.contains(fanOut) }
  }

  /// Whether a route that is closed is so for its topic only: then pushes that were not refused yet
  /// ask one by one.
  package func isHeld(_ route: PushRoute) -> Bool {
    routes.find(route).contains(where: \.queue.isOpen) && isClosed(route)
  }

  /// Another worker has the segment: none of its pushes is sent from here any more, and those in
  /// flight have no further try. Their batches never settle.
  package func abandon(_ tally: SegmentTally) {
    tally.sendableUntil = 0
    for route in routes.all { route.waiting.takeAll(of: tally) { _ in } }
  }

  private func tick() {
    for route in routes.all { route.tick() }
    routes.forget(at: loop.now)
    admission.tick(at: loop.now)
    ticker = loop.schedule(after: tickInterval) { [weak self] in self?.tick() }
  }
}
