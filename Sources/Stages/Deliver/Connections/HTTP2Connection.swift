import EventLoop
import HTTP2
import Model
import Transport

/// One HTTP/2 connection with the pushes in flight on it: joins transport, session and slots. It
/// reports to its route's pool and judges, which decide. Confined to its lane's loop.
final class HTTP2Connection: PushConnection {
  private let context: RouteContext
  private unowned let pool: ConnectionPool
  private let loop: EventLoop
  private(set) var transport: Connection?
  private var session: HTTP2ClientSession?
  private var machine = ConnectionMachine()
  private let slots: StreamSlots
  private let requests: RequestSender
  private let ends: StreamEnds
  private let watch: ConnectionWatch
  private var hasWork = false
  private(set) var shown: any ShownCredentials
  private var wasAskedForCalm = false
  /// Pushes that were in flight when it was lost.
  private var orphans = 0
  /// It is a probe connection.
  private let isForProbes: Bool

  init(
    _ context: RouteContext, isForProbes: Bool, pool: ConnectionPool, answers: AnswerJudge,
    losses: LossJudge
  ) throws(HTTP2Error) {
    self.context = context
    loop = context.loop
    self.pool = pool
    self.isForProbes = isForProbes
    watch = ConnectionWatch(openedAt: loop.now, limits: .init(context.options))
    slots = StreamSlots(
      capacity: isForProbes ? ProbeQueue.most : context.options.streamsPerConnection)
    shown = context.account.makeShownCredentials()
    requests = RequestSender(
      slots: slots,
      writer: try context.account.makeRequestWriter(
        authority: context.target.endpoint.authority, slots: slots.capacity))
    ends = StreamEnds(
      context, slots: slots, watch: watch, judge: answers, losses: losses,
      isForProbes: isForProbes)
    var sessionOptions = HTTP2ClientOptions()
    sessionOptions.maximumSlots = slots.capacity
    sessionOptions.keptBodyBytes = context.account.keptBodyBytes
    sessionOptions.keptFields = .named(RetryAfter.fieldName)
    session = try HTTP2ClientSession(options: sessionOptions)
  }

  func connect() {
    transport = context.makeTransport(self, shown)
    transport?.connect()
  }

  var phase: ConnectionMachine.Phase { machine.phase }
  var inFlight: Int { slots.inFlight }
  var wasSentAway: Bool { ends.wasSentAway }
  var cut: StreamCut { ends.cut }

  var capacity: Int {
    guard machine.phase == .open, let session, let transport else { return 0 }
    return requests.capacity(session, transport)
  }

  var streams: Int { machine.phase == .open ? session.map(requests.streams) ?? 0 : 0 }

  func hasWindow() -> Bool { session.map(requests.hasWindow) ?? false }

  func isAlive(at now: UInt64) -> Bool {
    guard machine.phase == .open, slots.inFlight == 0 else { return true }
    switch watch.checkLiveness(at: now) {
    case .alive: return true
    case .awaited: return false
    case .unknown(let ping):
      if ping { session?.ping() }
      hasWork = true
      loop.schedule(after: context.options.livenessTimeout) { [weak self] in
        guard let self, watch.isAwaitingPing, machine.phase == .open else { return }
        close(.silent, "no answer to PING after a quiet time")
      }
      return false
    }
  }

  // MARK: sending

  /// `flush` puts them on the wire.
  func send(
    _ run: ReadyRun, headers: SharedHeaders, isProbe: Bool, now: UInt64
  ) -> (sent: Int, end: RequestSender.End) {
    guard let session else { return (0, .full) }
    let (sent, end) = requests.send(
      run, headers: headers, isProbe: isProbe, on: session, now: now)
    if sent > 0 {
      watch.sent(at: now)
      shown.show(headers.credential, at: now)
      hasWork = true
    }
    return (sent, end)
  }

  /// Puts on the wire all that was sent, and other frames of nghttp2's.
  private func flush() {
    hasWork = false
    guard let session, let transport, machine.phase != .connecting, machine.phase != .closed
    else { return }
    do {
      try requests.write(session, to: transport)
    } catch {
      return lose("\(error)")
    }
    transport.flush()
    if session.hasEnded { settleEnded() }
  }

  func flushIfNeeded() { if hasWork { flush() } }

  // MARK: its end

  func retire(_ reason: String) {
    perform(machine.handle(.retire), reason)
    closeWhenDrained()
  }

  func stop() {
    if slots.inFlight == 0 { sendGoAway() }
    close(.stop, "stopping")
  }

  /// Tells the server that no request follows (RFC 9113, section 6.8). Only when nothing is in
  /// flight: what has not left yet would leave with it.
  private func sendGoAway() {
    guard machine.phase == .open || machine.phase == .draining else { return }
    session?.goAway()
    flush()
  }

  private func lose(_ reason: String) { close(.lost, reason) }

  func close(_ event: ConnectionMachine.Event, _ reason: String) {
    perform(machine.handle(event), reason)
  }

  private func closeWhenDrained() {
    guard machine.phase == .draining, slots.inFlight == 0 else { return }
    sendGoAway()
    perform(machine.handle(.drained), "drained")
  }

  private func perform(_ action: ConnectionMachine.Action, _ reason: String) {
    switch action {
    case .none: return
    case .becomeReady: pool.ready(self)
    case .replace: pool.replace(self, reason: reason)
    case .closeAndReplace, .close:
      transport?.close()
      if let goAway = session?.takeGoAway() {
        ends.wentAway(lastStream: goAway.lastStreamID, errorCode: goAway.errorCode)
      }
      settleEnded()
      orphans = slots.inFlight
      let lost = ends.takeOrphans(session)
      session = nil
      transport = nil
      pool.closed(self, orphans: lost, mustReplace: action == .closeAndReplace, reason: reason)
    }
  }

  private func settleEnded() {
    guard let session else { return }
    ends.settle(session, on: self)
    closeWhenDrained()
  }

  // MARK: now and then

  /// Gives up on streams without an answer and asks a quiet server for a sign of life.
  func tick(now: UInt64) {
    if machine.phase == .greeting, watch.isGreetingTooLong(at: now) {
      close(.silent, "no SETTINGS after the TLS handshake")
      return
    }
    guard machine.phase == .open || machine.phase == .draining, let session else { return }
    let takes = machine.phase != .open || slots.inFlight > 0 || capacity > 0
    if watch.takesNothing(takes: takes, isWaitedFor: pool.hasWaitingPushes, at: now) {
      close(.silent, "open, but it took no pushes")
      return
    }
    watch.fade()
    let givenUp = ends.giveUpOverdue(session, at: now)
    if givenUp.unanswered > 0 {
      context.report(.unanswered(context.target.endpoint, pushes: givenUp.unanswered))
    }
    let verdict = watch.judge(
      unanswered: givenUp.count, longest: givenUp.longest, isHeldUp: isHeldUp(at: now), at: now)
    switch verdict {
    case .none: break
    case .ping:
      session.ping()
      watch.pinged(at: now)
    case .close(let reason): return close(.silent, reason)
    }
    flush()
  }

  func oldestProbe(of topic: String) -> UInt64? { ends.oldestProbe(of: topic) }

  /// Gives up on pushes of a topic that ask here whether credentials are taken: others ask. Where
  /// nothing at all is answered they do so on another connection.
  /// - Returns: how many.
  func giveUpProbes(of topic: String, sentBefore time: UInt64) -> Int {
    guard let session, slots.inFlight > 0 else { return 0 }
    let (count, latest) = ends.giveUpProbes(of: topic, sentBefore: time, session)
    guard count > 0 else { return 0 }
    context.report(.unanswered(context.target.endpoint, pushes: count))
    if watch.isSilent(since: latest) {
      retire("no answer to pushes that ask whether credentials are taken")
    }
    flush()
    return count
  }

  private func isHeldUp(at now: UInt64) -> Bool {
    isForProbes && slots.inFlight > 0 && watch.isHeldUp(at: now)
  }

  // MARK: its use

  var openedAt: UInt64 { watch.openedAt }
  var wasOpened: Bool { watch.wasOpened }
  var isFresh: Bool { watch.isFresh }
  var lastUsedAt: UInt64 { watch.lastUsedAt }

  func end(at now: UInt64) -> ConnectionSlot.End {
    guard !wasAskedForCalm else { return .calm(wasLong: watch.isLong(at: now)) }
    let carried = ends.carried(session)
    guard carried == 0 || slots.inFlight == 0 else { return .carried(carried) }
    return orphans == 0 && watch.isIdle(at: now) ? .idle : .carried(carried)
  }
}

extension HTTP2Connection: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {
    watch.connected(at: loop.now)
    perform(machine.handle(.opened), "")
    flush()
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    guard let session else { return }
    guard !session.isFlooded else {
      // It reads no answers of ours either: closing is all that is left.
      return lose("the server sends too many frames for nothing, and reads none")
    }
    watch.received(at: loop.now)
    do {
      try session.receive(bytes)
    } catch {
      return lose("\(error)")
    }
    if session.takeSettingsChange() {
      ends.limited(to: session.remoteMaxConcurrentStreams)
      perform(machine.handle(.settings), "")
    }
    if let goAway = session.takeGoAway() {
      ends.wentAway(lastStream: goAway.lastStreamID, errorCode: goAway.errorCode)
      wasAskedForCalm = goAway.errorCode == HTTP2ErrorCode.enhanceYourCalm
      let reason = context.account.reason(ofGoAway: goAway.debug)
      perform(machine.handle(.goAway), reason ?? "GOAWAY, error code \(goAway.errorCode)")
    }
    settleEnded()
    hasWork = true
    context.signals.schedulePump()
  }

  func connectionDrained(_ connection: Connection) {
    guard machine.phase == .open || machine.phase == .draining else { return }
    hasWork = true
    context.signals.schedulePump()
  }

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    lose(error.map { "\($0)" } ?? "the server closed the connection")
  }
}
