import EventLoop
import Transport

/// The map of a cluster's slots, asked for again whenever it was wrong or a node is lost, and who
/// waits for the first one. Confined to its loop.
final class ClusterTopology {
  private let name: String
  private let options: RedisOptions
  private let nodes: ClusterNodes
  private let loop: EventLoop
  private let log: (String) -> Void
  private let random: () -> Double
  private(set) var map = ClusterMap()
  private var refresh: ClusterRefresh
  private var refreshTimer: LoopTimer?
  private var inquiry: RedisInquiry<ClusterMap>?
  /// How often nodes were asked for the map: each time another one is the first.
  private var inquiries = 0
  /// Why there is no map.
  private var mapFailure: RedisError?
  /// As of the last map.
  private var unserved: String?
  private var waiting = Queue<MapWait>()
  private var isClosed = false

  init(
    of name: String, options: RedisOptions, nodes: ClusterNodes, loop: EventLoop,
    log: @escaping (String) -> Void, random: @escaping () -> Double
  ) {
    self.name = name
    self.options = options
    self.nodes = nodes
    self.loop = loop
    self.log = log
    self.random = random
    refresh = ClusterRefresh(
      minimum: options.reconnectMinimum, maximum: min(options.reconnectMaximum, .seconds(1)),
      interval: options.clusterInterval)
  }

  /// Begins to ask, and again by itself, until `close`.
  func start() { handle(.start) }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    handle(.close)
    inquiry?.cancel()
    inquiry = nil
    for wait in waiting.takeAll() { wait.finish(closed) }
  }

  /// The map was wrong, or a node is lost: nodes are asked again, soon and not too often.
  func isInDoubt() { handle(.wanted) }

  private var closed: RedisError { RedisError(.closed, "\(name): the client is closed") }

  // MARK: what is known

  /// Why a part of the keys cannot be reached.
  var lastFailure: RedisError? {
    guard !map.isEmpty else { return mapFailure }
    for master in map.masters {
      if let failure = nodes.lastFailure(of: master) { return failure }
    }
    return unserved.map { RedisError(.notServed, "\(name): nobody serves the slots \($0)") }
  }

  /// Nil before there is a map.
  var state: RedisClusterState? { map.isEmpty ? nil : RedisClusterState(map) }

  /// The next step of an execution; redirects that it met correct the map.
  func route(
    _ execution: ClusterExecution, _ event: ClusterRouting.Event
  ) -> [ClusterRouting.Action] {
    let anyone = anyMaster
    return execution.routing.handle(event, &map, anyone: anyone)
  }

  /// For commands without a key: a master that nothing is known against.
  private var anyMaster: Endpoint {
    map.masters.first(where: nodes.isConnected)
      ?? map.masters.first { nodes.lastFailure(of: $0) == nil }
      ?? map.masters.first ?? options.endpoint
  }

  // MARK: asking

  private func handle(_ event: ClusterRefresh.Event) {
    for action in refresh.handle(event) {
      switch action {
      case .ask: ask()
      case .startTimer(let delay):
        refreshTimer?.cancel()
        refreshTimer = loop.schedule(after: delay) { [weak self] in self?.handle(.timerFired) }
      case .cancelTimer:
        refreshTimer?.cancel()
        refreshTimer = nil
      }
    }
  }

  private func ask() {
    inquiries += 1
    let inquiry = RedisInquiry(ClusterMap.question, of: candidates, options, loop, log, random)
    self.inquiry = inquiry
    inquiry.start { [weak self] result in
      guard let self, !isClosed else { return }
      self.inquiry = nil
      switch result {
      case .success(let map): take(map)
      case .failure(let failure):
        let line = "\(name): \(failure)"
        if mapFailure?.description != failure.description { log("\(line); asking again") }
        mapFailure = failure
        handle(.failed)
      }
    }
  }

  /// Those that answer first, each time another of them: one that is cut off from the rest has an
  /// old map.
  private var candidates: [Endpoint] {
    let ready = map.masters.filter(nodes.isConnected)
    let turn = ready.isEmpty ? 0 : inquiries % ready.count
    let others = map.masters.filter { !nodes.isConnected(to: $0) }
    var seen: Set<Endpoint> = []
    return (ready[turn...] + ready[..<turn] + others + options.clusterNodes).filter {
      seen.insert($0).inserted
    }
  }

  private func take(_ new: ClusterMap) {
    let isChanged = new != map
    map = new
    mapFailure = nil
    report(RedisClusterState(new).unserved)
    nodes.keep(map.masters)
    if isChanged { nodes.giveBackWaitingForLost() }
    for wait in waiting.takeAll() { wait.finish(nil) }
    handle(.answered(isSettled: lastFailure == nil))
  }

  private func report(_ now: String?) {
    guard now != unserved else { return }
    unserved = now
    log(now.map { "\(name): nobody serves the slots \($0)" } ?? "\(name): all slots are served")
  }

  // MARK: waiting

  private final class MapWait {
    var timer: LoopTimer?
    let timeout: Duration
    /// Added to `timeout` once, where it waits for the look-up of a name.
    var namesTime: Duration?
    private var continuation: CheckedContinuation<RedisError?, Never>?

    init(_ timeout: Duration, _ continuation: CheckedContinuation<RedisError?, Never>) {
      self.timeout = timeout
      self.continuation = continuation
    }

    func finish(_ failure: RedisError?) {
      timer?.cancel()
      continuation?.resume(returning: failure)
      continuation = nil
    }
  }

  /// Returns when there is a map, which may be an old one. As many may wait as pipelines.
  func waitForMap(_ timeout: Duration) async throws(RedisError) {
    guard !isClosed else { throw closed }
    guard map.isEmpty else { return }
    guard waiting.count < options.maximumPipelines else {
      throw RedisError(.invalidUse, "\(options.maximumPipelines) Redis pipelines wait already")
    }
    let failure = await withCheckedContinuation { continuation in
      let wait = MapWait(timeout, continuation)
      start(wait, timeout)
      waiting.append(wait)
    }
    if let failure { throw failure }
  }

  /// A name that is looked up has its own time, once.
  private func start(_ wait: MapWait, _ time: Duration) {
    wait.timer = loop.schedule(after: time) { [weak self, weak wait] in
      guard let self, let wait else { return }
      if inquiry?.isResolving == true, wait.namesTime == nil {
        wait.namesTime = options.resolveTimeout
        return start(wait, options.resolveTimeout)
      }
      waiting.remove { $0 === wait }
      let waited = wait.timeout + (wait.namesTime ?? .zero)
      wait.finish(RedisError.unavailable(name, after: waited, because: mapFailure ?? pending))
    }
  }

  /// Why there is no map, before anybody has said why.
  private var pending: RedisError {
    let isResolving = inquiry?.isResolving == true
    let step = isResolving ? "DNS has not said yet where a node is" : "no node has answered yet"
    return RedisError(.unavailable, "\(name): \(step)")
  }

  /// Why commands would wait now.
  var obstacle: RedisError? { lastFailure ?? (map.isEmpty ? pending : nil) }
}

/// When the nodes are asked for the map of slots: one question at a time, with a pause behind each,
/// however many want it. States, events, actions; no clock, no socket.
///
///     idle ─start─▶ asking ─answered, failed─▶ resting ─timer─▶ waiting
///                     ▲ ▲                         │ wanted meanwhile │
///                     │ └──────────timer──────────┘                  │
///                     └──────────────wanted, timer───────────────────┘
struct ClusterRefresh {
  enum State: Equatable { case idle, asking, resting, waiting, closed }

  enum Event: Equatable {
    case start
    /// The map was wrong, or a node is lost.
    case wanted
    /// There is a map; `isSettled`: all slots are served and no master is out of reach.
    case answered(isSettled: Bool)
    case failed
    case timerFired
    case close
  }

  enum Action: Equatable {
    case ask
    /// In the place of the one that runs.
    case startTimer(Duration)
    case cancelTimer
  }

  private(set) var state = State.idle
  private let minimum: Duration
  private let maximum: Duration
  private let interval: Duration
  private var isWanted = false
  /// Answers in a row that left something to be wished for.
  private var unsettled = 0

  /// - Parameters:
  ///   - minimum: the pause behind an answer. It doubles, up to `maximum`, while something is
  ///     wrong: a replica takes over some seconds after its master is gone.
  ///   - interval: how often the map is asked for when nobody wants it.
  init(minimum: Duration, maximum: Duration, interval: Duration) {
    self.minimum = max(minimum, .milliseconds(1))
    self.maximum = max(maximum, self.minimum)
    self.interval = max(interval, self.maximum)
  }

  mutating func handle(_ event: Event) -> [Action] {
    switch (state, event) {
    case (.closed, _): return []
    case (_, .close):
      state = .closed
      return [.cancelTimer]
    case (.idle, .start), (.waiting, .wanted), (.waiting, .timerFired): return ask()
    case (.asking, .wanted), (.resting, .wanted):
      isWanted = true
      return []
    case (.asking, .answered(let isSettled)): return rest(isSettled)
    case (.asking, .failed): return rest(false)
    case (.resting, .timerFired):
      if isWanted { return ask() }
      state = .waiting
      return [.startTimer(interval)]
    case (.idle, _), (.asking, _), (.resting, _), (.waiting, _): return []
    }
  }

  private mutating func ask() -> [Action] {
    state = .asking
    isWanted = false
    return [.cancelTimer, .ask]
  }

  private mutating func rest(_ isSettled: Bool) -> [Action] {
    state = .resting
    unsettled = isSettled ? 0 : min(unsettled + 1, 64)
    if !isSettled { isWanted = true }
    var pause = minimum
    for _ in 1..<max(unsettled, 1) where pause < maximum { pause *= 2 }
    return [.startTimer(min(pause, maximum))]
  }
}
