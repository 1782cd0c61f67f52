import EventLoop
import Text
import Transport

/// The connection to one server for everybody on one loop: pipelines go out in the order of
/// `submit`, those of one turn in one write, and are answered in that order. Reconnects by itself
/// with back-off.
///
/// Confined to its loop. Call `close` before letting it go.
final class RedisConnection {
  let options: RedisOptions
  let loop: EventLoop
  let log: (String) -> Void
  private var role: RoleWatch
  let random: () -> Double
  private(set) var session: RedisSession
  var connection: Connection?
  /// The way to the server, of the attempt to connect that is on its way, or was the last.
  var approach: RedisApproach
  private var reader: RedisReplyReader?
  private var handshakeReplies: RedisReplies?
  /// Pipelines have a name's time more, once: where a nameserver is dead, the first connection
  /// takes longer than a command may.
  private var wasReady = false
  private var sessionTimer: LoopTimer?
  private lazy var idleCheck = IdleCheck(of: self)
  /// Of a master.
  private var counts: RedisCounts?
  /// Of a master: where reads that may lag go.
  private(set) var replicas: RedisReplicas?
  private let roleCommand = RedisPipeline(["ROLE"])
  private var waiting = Queue<Execution>()
  private var sent = Queue<Execution>()
  /// Called after each loss, and each connection that could not be made.
  var whenLost: (() -> Void)?

  /// `log` gets a line whenever it breaks, cannot be made, or is back; no secrets in it. `random`:
  /// 0..<1, for the jitter of the back-off.
  init(
    options: RedisOptions, purpose: ConnectionPurpose, loop: EventLoop,
    log: @escaping (String) -> Void, random: @escaping () -> Double
  ) {
    self.options = options
    role = RoleWatch(purpose)
    self.loop = loop
    self.log = log
    self.random = random
    approach = RedisApproach(options, purpose)
    session = RedisSession(options)
  }

  deinit { if loop.isOnLoop { connection?.close() } }

  var isOfCluster: Bool { role.purpose.isOfCluster }

  var isConnected: Bool { session.state == .ready }

  /// Why there is no connection, as long as there is none and one was tried.
  var lastFailure: RedisError? { session.lastFailure }

  /// Nothing is on its way: no pipeline would end with an unknown outcome now.
  var hasNothingSent: Bool { sent.isEmpty }

  /// Pipelines that wait or are unanswered.
  var load: Int { waiting.count + sent.count }

  /// Why no pipeline is taken; nil when one is.
  var refusal: RedisError? {
    guard session.state != .closed else {
      return RedisError(.closed, "\(options.name): the client is closed")
    }
    guard load < options.maximumPipelines else {
      return RedisError(.invalidUse, "\(options.maximumPipelines) Redis pipelines wait already")
    }
    return nil
  }

  /// Of a master, before `start`: its losses are counted, and where the options say so, its
  /// replicas are connected to.
  func prepareAsMaster(counting counts: RedisCounts) {
    self.counts = counts
    guard let limit = options.replicaLagLimit else { return }
    replicas = RedisReplicas(of: self, limit: limit, counting: counts)
  }

  /// Begins to connect, and again after each loss, until `close`. Before it, pipelines wait.
  func start() {
    handle(.start)
    replicas?.start()
  }

  /// Ends every pipeline with `closed`; those that were sent may have been done or not.
  func close() {
    handle(.close)
    replicas?.close()
  }

  /// Another connection is made: on this one came what answers nothing of ours, and the next
  /// replies may be another's, too.
  func distrust(over why: String) {
    replicas?.distrust(over: why)
    guard session.state == .ready else { return }
    handle(.lost(RedisError(.connectionLost, "what came is no answer of ours: \(why)")))
  }

  /// Ends what waits for the connection, for who knows another way.
  func giveBackWaiting() {
    let failure = session.unavailable(after: .zero)
    for execution in waiting.takeAll() { execution.giveBack(failure) }
  }

  // MARK: pipelines

  func submit(_ execution: Execution) {
    execution.timer = loop.schedule(after: execution.timeout) { [weak self, weak execution] in
      if let execution { self?.expire(execution) }
    }
    if session.state == .ready { send(execution) } else { waiting.append(execution) }
  }

  private func send(_ execution: Execution) {
    guard let connection, let reader else { return }
    execution.isSent = true
    sent.append(execution)
    reader.expect(execution.replies)
    connection.write(execution.pipeline.bytes)
    guard role.asksForRole else { return }
    let answer = RedisReplies(expecting: 1, maximumBytes: RedisReplyReader.maximumLineBytes)
    execution.role = answer
    reader.expect(answer)
    connection.write(roleCommand.bytes)
  }

  private func expire(_ execution: Execution) {
    guard execution.isSent else {
      if !wasReady, isResolving, execution.namesTime == nil {
        execution.namesTime = options.resolveTimeout
        execution.timer = loop.schedule(after: options.resolveTimeout) {
          [weak self, weak execution] in
          if let execution { self?.expire(execution) }
        }
        return
      }
      waiting.remove { $0 === execution }
      execution.finish(
        .unavailable(
          options.name, after: execution.timeout + (execution.namesTime ?? .zero),
          because: session.lastFailure ?? pending)
      )
      return
    }
    let error = RedisError(
      .timeout,
      "\(options.name) did not answer within "
        + DurationText.text(execution.timeout))
    execution.finish(error)
    handle(.lost(error))
  }

  private func finishAnswered() {
    while let execution = sent.first, execution.isAnswered {
      // Ends this one too: what is no master's answer is nobody's.
      if let answer = execution.role, let failure = role.obstacle(ofRole: answer[0]) {
        // But for what it did not do: a master that steps down in order sends everybody away.
        if isOfCluster, execution.replies.areRedirects {
          sent.popFirst()?.finish(nil)
        }
        return handle(.lost(failure))
      }
      _ = sent.popFirst()
      execution.finish(nil)
      if execution.replies.storage.pointee.refusesWrites {
        let refused = "Redis takes no writes (READONLY): it is no master any more"
        return handle(.lost(RedisError(.loading, refused)))
      }
    }
  }

  // MARK: the connection's life

  func handle(_ event: RedisSession.Event) {
    let wasReady = session.state == .ready
    for action in session.handle(event, now: loop.now, random: random()) { perform(action) }
    guard case .lost = event, session.state == .backingOff else { return }
    if wasReady { counts?.brokenConnections += 1 }
    whenLost?()
  }

  private func perform(_ action: RedisSession.Action) {
    switch action {
    case .connect: connect()
    case .sendHandshake: sendHandshake()
    case .startTimer(let delay):
      sessionTimer?.cancel()
      sessionTimer = loop.schedule(after: delay) { [weak self] in self?.handle(.timerFired) }
    case .cancelTimer:
      sessionTimer?.cancel()
      sessionTimer = nil
    case .disconnect:
      approach.cancel()
      connection?.close()
      connection = nil
      reader = nil
      handshakeReplies = nil
      idleCheck.cancel()
    case .sendWaiting:
      wasReady = true
      for execution in waiting.takeAll() { send(execution) }
      idleCheck.schedule()
      replicas?.begin()
    case .failSent(let error): for execution in sent.takeAll() { execution.finish(error) }
    case .failAll(let error):
      for execution in sent.takeAll() + waiting.takeAll() { execution.finish(error) }
    case .report(let line): log(line)
    }
  }

  private func sendHandshake() {
    guard let connection else { return }
    let pipeline = RedisPipeline()
    approach.handshake.append(to: pipeline)
    if let failure = pipeline.failure { return handle(.lost(failure)) }
    do throws(RedisError) {
      let reader = try RedisReplyReader()
      let replies = RedisReplies(
        expecting: pipeline.count, maximumBytes: RedisReplyReader.maximumLineBytes)
      reader.expect(replies)
      self.reader = reader
      handshakeReplies = replies
      connection.write(pipeline.bytes)
    } catch {
      handle(.lost(error))
    }
  }

  private func finishHandshake(_ replies: RedisReplies) {
    handshakeReplies = nil
    if let failure = approach.handshake.verdict(on: replies) { return handle(.lost(failure)) }
    let obstacle = role.obstacle(ofHandshake: replies) { [log, options] in
      log("\(options.name) does not tell us its ROLE: grant it, or a replica is not noticed")
    }
    guard let obstacle else { return accept() }
    guard goElsewhere(RedisRole(replies[replies.count - 1]), obstacle) else {
      return handle(.lost(approach.search.failure(obstacle)))
    }
    handle(.foundReplica)
  }

  private func accept() {
    if let master = approach.search.master {
      log("\(options.name) leads to a replica: connected to its master \(master)")
    }
    handle(.handshakeAccepted)
  }
}

extension RedisConnection: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {
    if connection === self.connection { handle(.opened) }
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    guard connection === self.connection else { return }
    var failure: RedisError?
    do throws(RedisError) {
      guard let reader else { throw RedisError(.protocolError, "Redis speaks before it is asked") }
      try reader.receive(bytes)
    } catch {
      failure = error
    }
    if let replies = handshakeReplies, replies.isComplete { finishHandshake(replies) }
    finishAnswered()
    guard var failure else { return }
    if failure.code == .replyTooLarge, session.state == .ready {
      if sent.first?.replies.isComplete == false {
        // Of this pipeline alone the replies are too large; the others just lose their connection.
        sent.popFirst()?.finish(failure)
      } else {
        failure = RedisError(.protocolError, "this is no Redis: ROLE answers too much")
      }
    }
    handle(.lost(failure))
  }

  func connectionDrained(_ connection: Connection) {}

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    guard connection === self.connection else { return }
    let isReady = session.state == .ready
    let cause = error.map { "\($0)" } ?? "the server closed it"
    guard !isReady else {
      return handle(.lost(RedisError(.connectionLost, "the connection broke", cause: cause)))
    }
    let refusal = handshakeReplies.flatMap { RedisHandshake.refusal(in: $0) }
    let failure = refusal ?? RedisError(.unavailable, "no connection", cause: cause)
    handle(.lost(approach.search.failure(failure)))
  }
}

/// A connection that nobody uses says nothing of itself: its other end may have gone without a
/// word, may be a replica now, or, behind a proxy, another server. So it is asked now and then.
/// Belongs to its connection, and is confined to its loop.
final class IdleCheck {
  private unowned let connection: RedisConnection
  private var timer: LoopTimer?
  /// The process that answers on this connection; nil before it was asked.
  private var runIdentifier: String?

  init(of connection: RedisConnection) { self.connection = connection }

  /// There is a connection, as of now or as before.
  func schedule() {
    timer?.cancel()
    timer = connection.loop.schedule(after: connection.options.checkInterval) { [weak self] in
      self?.check()
    }
  }

  /// There is none any more; the next may lead to another process.
  func cancel() {
    timer?.cancel()
    runIdentifier = nil
  }

  /// One small command, with ROLE behind it as behind all. Without an answer in time the connection
  /// is given up, as for any command.
  private func check() {
    connection.ask(["INFO", "server"]) { [weak self] answer in
      guard let self, let answer else { return }
      judge(RedisRole.runIdentifier(answer))
    }
  }

  /// Where INFO is forbidden nobody can say.
  private func judge(_ answering: String?) {
    guard let answering, let known = runIdentifier, known != answering else {
      runIdentifier = answering ?? runIdentifier
      return schedule()
    }
    connection.handle(
      .lost(RedisError(.connectionLost, "another Redis process answers (its run_id changed)")))
  }
}

/// Whether who answers on a connection is what it was made for: asked after each handshake, and
/// behind each pipeline where that may change.
struct RoleWatch {
  let purpose: ConnectionPurpose
  /// Whether ROLE goes behind each pipeline of this connection.
  private(set) var asksForRole = false
  private var hasToldOfRole = false
  /// Of a replica: the master that it named when it was connected to.
  private var followed: RedisRole?

  init(_ purpose: ConnectionPurpose) { self.purpose = purpose }

  /// Why a new connection is of no use. ROLE is the last that a handshake asks.
  /// - Parameter tell: called once, of a server that does not say its ROLE.
  mutating func obstacle(ofHandshake replies: RedisReplies, tell: () -> Void) -> RedisError? {
    let reply = replies[replies.count - 1]
    let role = RedisRole(reply)
    followed = nil
    switch purpose {
    case .inquiry: return nil
    case .onlyServer, .clusterNode:
      let failure: RedisError? = role.failure
      asksForRole = role == .master
      if role == .untold, !hasToldOfRole {
        hasToldOfRole = true
        tell()
      }
      return failure
    case .replica(_, let obstacle):
      if let failure = obstacle(ReplicationReport(replies[replies.count - 2])) { return failure }
      followed = role
      asksForRole = true
      return self.obstacle(ofRole: reply)
    }
  }

  /// Why what ROLE answers behind commands makes them nobody's. A replica must be connected to the
  /// master that it had: without, it may have been emptied.
  func obstacle(ofRole reply: RedisReply) -> RedisError? {
    let role = RedisRole(reply)
    guard case .replica = purpose else { return role.failure }
    guard case .replica = role, role == followed else {
      return RedisError(.loading, "it copies another master, or none, or does not tell its ROLE")
    }
    guard reply[3].text == "connected" else {
      return RedisError(.loading, "it is not connected to its master")
    }
    return nil
  }
}
