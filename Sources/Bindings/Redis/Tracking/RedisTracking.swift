import EventLoop
import Transport

/// Hears of each write to keys with a prefix on the server that a master's connection leads to, as
/// long as both connections lead to the same process. Begins again by itself. Belongs to the
/// master's connection, and is confined to its loop.
final class RedisTracking {
  /// Before another attempt; a server that refuses is asked less often.
  private static let pause = (usual: Duration.seconds(1), refused: Duration.seconds(60))

  private unowned let master: RedisConnection
  private let prefix: String
  private weak var delegate: (any RedisTrackingDelegate)?
  private var listener: InvalidationListener?
  private(set) var server: TrackedServer?
  private var fences = FenceRounds()
  private var whenFenced: [() -> Void] = []
  private var timer: LoopTimer?
  private var isClosed = false
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

  /// There is a connection to the master, as of now.
  func begin() {
    end()
    guard !isClosed, let endpoint = master.connectedEndpoint else { return }
    let replies = RedisReplies(expecting: 1, maximumBytes: RedisReplyReader.maximumLineBytes)
    let execution = Execution(
      RedisPipeline(["INFO", "server"]), replies, timeout: master.options.commandTimeout)
    execution.whenFinished = { [weak self, unowned execution] in
      guard let self, execution.failure == nil else { return }
      guard let run = RedisRole.runIdentifier(execution.replies[0]) else {
        return tell("its INFO names no run_id", pause: Self.pause.refused)
      }
      listen(at: endpoint, run)
    }
    master.submit(execution)
  }

  /// There is none any more.
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
      at: endpoint, options: master.options, prefix: prefix, loop: loop)
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
        return tell("another process answers there", pause: Self.pause.usual)
      }
      obstacle = nil
      let server = TrackedServer(run, of: master, self)
      self.server = server
      delegate?.trackingBegan(at: server)
      pass(anIntervalAt: server)
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
      tell("\(error)", pause: isRefused ? Self.pause.refused : Self.pause.usual)
    }
  }

  private func pass(anIntervalAt server: TrackedServer) {
    guard server === self.server else { return }
    delegate?.intervalPassed(at: server)
    guard server === self.server else { return }
    timer?.cancel()
    timer = loop.schedule(after: master.options.trackingInterval) { [weak self, weak server] in
      if let server { self?.pass(anIntervalAt: server) }
    }
  }

  /// Ends what there is, and begins again after a pause.
  private func tell(_ why: String, pause: Duration) {
    end()
    guard !isClosed else { return }
    if obstacle != why {
      obstacle = why
      master.log("\(master.options.name) does not tell of writes: \(why)")
    }
    timer = loop.schedule(after: pause) { [weak self] in
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
