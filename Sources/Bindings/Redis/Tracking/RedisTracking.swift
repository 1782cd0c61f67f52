import EventLoop
import Transport

/// Hears of each write to keys with a prefix on the server that a master's connection leads to, as
/// long as both connections lead to the same process. Begins again by itself. Belongs to the
/// master's connection, and is confined to its loop.
final class RedisTracking {
  /// Before another attempt: it doubles while none lasts as long as the longest; a server that
  /// refuses is asked after that.
  private static let pause = (shortest: Duration.seconds(1), longest: Duration.seconds(60))

  private unowned let master: RedisConnection
  private let prefix: String
  private weak var delegate: (any RedisTrackingDelegate)?
  private var listener: InvalidationListener?
  private(set) var server: TrackedServer?
  private var fences = FenceRounds()
  /// One for each page that is read and each word that is given: there are as many as places.
  private var whenFenced: [() -> Void] = []
  private var timer: LoopTimer?
  private var isClosed = false
  private var pause = RedisTracking.pause.shortest
  private var beganAt: UInt64 = 0
  /// Why nothing is told of; nil: it is, or nobody has found out yet. The log says it once.
  private(set) var obstacle: String?

  init(
    of master: RedisConnection, prefix: String, for delegate: any RedisTrackingDelegate
  ) {
    self.master = master
    self.prefix = prefix
    self.delegate = delegate
  }

  private var loop: EventLoop { master.loop }

  /// Asks the master, to which there is a connection as of now, which process it is, and listens
  /// there. Without an answer the connection is lost, and the next begins it again.
  func begin() {
    end()
    guard !isClosed, let endpoint = master.connectedEndpoint else { return }
    master.ask(["INFO", "server"]) { [weak self] answer in
      guard let self, let answer else { return }
      guard let run = RedisRole.runIdentifier(answer) else {
        return restart("INFO is refused, or names no run_id", isRefusal: true)
      }
      listen(at: endpoint, run)
    }
  }

  /// Nobody is told of anything any more.
  func end() {
    timer?.cancel()
    timer = nil
    listener?.close()
    listener = nil
    let fenced = whenFenced
    whenFenced = []
    fences = FenceRounds()
    let ended = server
    server = nil
    ended?.isTracking = false
    for done in fenced { done() }
    if let ended { delegate?.trackingEnded(at: ended) }
  }

  func close() {
    isClosed = true
    end()
  }

  /// `done` is called when two rounds are over, or nothing is told of any more.
  func fence(_ done: @escaping () -> Void) {
    guard let listener else { return done() }
    whenFenced.append(done)
    if fences.begin() { listener.ping() }
  }

  // MARK: the listener

  private func listen(at endpoint: Endpoint, _ run: String) {
    guard !isClosed, listener == nil, master.isConnected else { return }
    let listener = InvalidationListener(
      at: endpoint, options: master.options, prefix: prefix, loop: loop, log: master.log)
    self.listener = listener
    listener.start { [weak self, weak listener] event in
      guard let self, let listener, listener === self.listener else { return }
      handle(event, run)
    }
  }

  private func handle(_ event: InvalidationListener.Event, _ run: String) {
    switch event {
    case .listening(let other):
      guard other == run else {
        return restart("another process answers there", isRefusal: false)
      }
      obstacle = nil
      beganAt = loop.now
      let server = TrackedServer(run, of: master, self)
      self.server = server
      delegate?.trackingBegan(at: server)
      letIntervalPass(at: server)
    case .written(let keys):
      if let server { delegate?.wereWritten(keys, at: server) }
    case .everythingWritten:
      if let server { delegate?.everythingWasWritten(at: server) }
    case .answered:
      let (done, sends) = fences.answer()
      let fenced = whenFenced.prefix(done)
      whenFenced.removeFirst(done)
      if sends { listener?.ping() }
      for done in fenced { done() }
    case .lost(let error):
      let isRefused = error.code == .refused || error.code == .authentication
      restart("\(error)", isRefusal: isRefused)
    }
  }

  private func letIntervalPass(at server: TrackedServer) {
    guard server === self.server else { return }
    delegate?.intervalPassed(at: server)
    guard server === self.server else { return }
    timer?.cancel()
    timer = loop.schedule(after: master.options.trackingInterval) { [weak self, weak server] in
      if let server { self?.letIntervalPass(at: server) }
    }
  }

  /// Ends what there is, and begins again after a pause.
  private func restart(_ why: String, isRefusal: Bool) {
    let hasLasted = server != nil && loop.now &- beganAt >= Self.pause.longest.nanoseconds
    end()
    guard !isClosed else { return }
    if hasLasted { pause = Self.pause.shortest }
    let delay = isRefusal ? Self.pause.longest : pause
    pause = min(pause * 2, Self.pause.longest)
    if obstacle != why {
      obstacle = why
      master.log("\(master.options.name) does not tell of writes: \(why)")
    }
    timer = loop.schedule(after: delay) { [weak self] in
      guard let self, master.isConnected else { return }
      begin()
    }
  }
}

extension RedisConnection {
  /// Where the connection leads that there is.
  var connectedEndpoint: Endpoint? { isConnected ? connection?.endpoint : nil }

  /// Of a master, once: writes to keys with a prefix are told of.
  func track(_ prefix: String, for delegate: any RedisTrackingDelegate) {
    tracking = RedisTracking(of: self, prefix: prefix, for: delegate)
    if isConnected { tracking?.begin() }
  }
}
