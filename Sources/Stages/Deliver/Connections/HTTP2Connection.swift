import EventLoop
import HTTP2
import Model
import Text
import Transport

/// One HTTP/2 connection with the pushes in flight on it: joins transport, session and slots. It
/// ends its pushes as answered, given up or lost; its route's pool and judges decide what follows.
/// Confined to its lane's loop.
final class HTTP2Connection: PushConnection {
  private let context: RouteContext
  private unowned let pool: ConnectionPool
  private let answers: AnswerJudge
  private let losses: LossJudge
  /// It is a probe connection.
  private let isForProbes: Bool
  private(set) var transport: Connection?
  private var session: HTTP2ClientSession?
  private var machine = ConnectionMachine()
  private var watch: ConnectionWatch
  private let slots: StreamSlots
  private let requests: RequestSender
  /// The platform's, of an answer; empty: none.
  private let keptField: [UInt8]
  private var hasWork = false
  private(set) var shown: any ShownCredentials
  private(set) var cut = StreamCut()
  private var wasAskedForCalm = false
  /// Pushes that were answered.
  private var answered = 0
  /// Pushes that were in flight when it was lost.
  private var orphans = 0
  /// Named by the server's GOAWAY: it looks at the streams up to this one.
  private var lastStreamTaken: Int32?

  init(
    _ context: RouteContext, isForProbes: Bool, pool: ConnectionPool, answers: AnswerJudge,
    losses: LossJudge
  ) throws(HTTP2Error) {
    self.context = context
    self.pool = pool
    self.answers = answers
    self.losses = losses
    self.isForProbes = isForProbes
    watch = ConnectionWatch(openedAt: context.loop.now, context.options)
    slots = StreamSlots(
      capacity: isForProbes ? ProbeQueue.most : context.options.streamsPerConnection)
    shown = context.account.makeShownCredentials()
    requests = RequestSender(
      slots: slots,
      writer: try context.account.makeRequestWriter(
        authority: context.target.endpoint.authority, slots: slots.capacity))
    var sessionOptions = HTTP2ClientOptions()
    sessionOptions.maximumSlots = slots.capacity
    sessionOptions.keptBodyBytes = context.account.keptBodyBytes
    keptField = context.account.keptField.map { Array($0.utf8) } ?? []
    sessionOptions.keptFields = .named(RetryAfter.fieldName, or: keptField)
    // Nobody reads it: the push is accepted.
    sessionOptions.keepsBodyOfSuccess = false
    session = try HTTP2ClientSession(options: sessionOptions)
  }

  func connect() {
    transport = context.makeTransport(self, shown)
    transport?.connect()
  }

  private var now: UInt64 { context.loop.now }
  var phase: ConnectionMachine.Phase { machine.phase }
  var inFlight: Int { slots.inFlight }
  var wasSentAway: Bool { lastStreamTaken != nil }

  var capacity: Int {
    guard machine.phase == .open, let session, let transport else { return 0 }
    return requests.capacity(session, transport)
  }

  var streams: Int { machine.phase == .open ? session.map(requests.streams) ?? 0 : 0 }

  func isAlive(at now: UInt64) -> Bool {
    guard machine.phase == .open, slots.inFlight == 0, watch.isDoubtful(at: now) else {
      return true
    }
    guard !watch.isAwaitingPing else { return false }
    watch.isAwaitingPing = true
    session?.ping()
    watch.pinged(at: now)
    hasWork = true
    context.loop.schedule(after: context.options.livenessTimeout) { [weak self] in
      guard let self, watch.isAwaitingPing, machine.phase == .open else { return }
      handle(.silent, "no answer to PING after a quiet time")
    }
    return false
  }

  // MARK: sending

  func send(
    _ run: ReadyRun, headers: SharedHeaders, isCredentialCheck: Bool, now: UInt64
  ) -> (sent: Int, end: RequestSender.End) {
    guard let session else { return (0, .full) }
    let (sent, end) = requests.send(
      run, headers: headers, isCredentialCheck: isCredentialCheck, on: session, now: now)
    if sent > 0 {
      watch.sent(at: now)
      shown.show(headers.credential, at: now)
      hasWork = true
    }
    return (sent, end)
  }

  private func flush() {
    hasWork = false
    guard let session, let transport, machine.phase != .connecting, machine.phase != .closed
    else { return }
    do {
      try requests.write(session, to: transport)
    } catch {
      return handle(.lost, "\(error)")
    }
    transport.flush()
    if session.hasEnded { settleEnded() }
  }

  func flushIfNeeded() { if hasWork { flush() } }

  // MARK: answers

  private func settleEnded() {
    guard let session else { return }
    var accepted = answers.begin()
    while let ended = session.nextEnded() {
      guard let item = slots.empty(ended.slot) else { continue }
      if ended.status != 0 {
        answered += 1
        watch.answered(sentAt: item.sentAt, isGivenUp: item.isReset, at: now)
      }
      let meaning = meaning(of: ended)
      guard ended.status == 0 || meaning != nil else {
        answers.accepted(item.push, sentAt: item.sentAt, &accepted)
        continue
      }
      // A failure may change the rate: those that came before are judged by the one before.
      answers.note(accepted)
      if let meaning {
        settleRefused(item, ended, meaning)
      } else {
        settleUnanswered(item, ended)
      }
      accepted = answers.begin()
    }
    answers.note(accepted)
    closeWhenDrained()
  }

  /// nil: there is no answer, or the push is accepted.
  private func meaning(of ended: HTTP2Ended) -> AnswerMeaning? {
    guard ended.status != 0, ended.status != 200 else { return nil }
    let detail = ended.content?.value(of: keptField).map { String(decoding: $0, as: UTF8.self) }
    return answers.meaning(
      of: PlatformAnswer(
        status: ended.status, body: ended.content?.body ?? [], isWhole: ended.errorCode == 0,
        detail: detail))
  }

  private func settleRefused(
    _ item: StreamSlots.Slot, _ ended: HTTP2Ended, _ meaning: AnswerMeaning
  ) {
    let retryAfter = ended.content?.value(of: RetryAfter.fieldName)?.withUnsafeBytes {
      RetryAfter.parse($0, now: context.options.wallClock())
    }
    answers.refused(item, meaning, retryAfter: retryAfter, on: self)
    if case .setAside = meaning.disposition { cut.rejected(at: now) }
  }

  private func settleUnanswered(_ item: StreamSlots.Slot, _ ended: HTTP2Ended) {
    // We gave it up before the server had it.
    let isUntouched = !ended.wasSent || (item.isReset && !ended.wasWhole)
    if isUntouched {
      answers.requeue(item.push)
    } else if isBeyondLast(item.stream) {
      answers.requeue(item.push, hadIt: true)
    } else if item.isReset {
      let isWell = watch.isWell(since: item.sentAt, isForProbes: isForProbes)
      losses.gaveUp(item.push, sentAt: item.sentAt, isWell: isWell)
    } else {
      if ended.errorCode == HTTP2ErrorCode.enhanceYourCalm { answers.calm(sentAt: item.sentAt) }
      answers.reset(
        item.push, isRefused: ended.errorCode == HTTP2ErrorCode.refusedStream,
        wasOnItsWay: cut.wasOnItsWay(sentAt: item.sentAt), sentAt: item.sentAt)
    }
  }

  /// A stream beyond the last one that a GOAWAY names was not looked at (RFC 9113, section 6.8).
  private func isBeyondLast(_ stream: Int32) -> Bool {
    lastStreamTaken.map { stream > $0 } ?? false
  }

  // MARK: its end

  func retire(_ reason: String) {
    handle(.retire, reason)
    closeWhenDrained()
  }

  func stop() {
    if slots.inFlight == 0 { sendGoAway() }
    handle(.stop, "stopping")
  }

  /// Tells the server that no request follows (RFC 9113, section 6.8). Only when nothing is in
  /// flight: what has not left yet would leave with it.
  private func sendGoAway() {
    guard machine.phase == .open || machine.phase == .draining else { return }
    session?.goAway()
    flush()
  }

  private func closeWhenDrained() {
    guard machine.phase == .draining, slots.inFlight == 0 else { return }
    sendGoAway()
    handle(.drained, "drained")
  }

  func handle(_ event: ConnectionMachine.Event, _ reason: String) {
    let action = machine.handle(event)
    switch action {
    case .none: return
    case .becomeReady: pool.ready(self)
    case .replace: pool.replace(self, reason: reason)
    case .closeAndReplace, .close:
      transport?.close()
      takeGoAway()
      settleEnded()
      orphans = slots.inFlight
      let lost = takeOrphans()
      session = nil
      transport = nil
      pool.closed(self, orphans: lost, mustReplace: action == .closeAndReplace, reason: reason)
    }
  }

  /// - Returns: why the server goes away; nil when it does not.
  @discardableResult
  private func takeGoAway() -> String? {
    guard let goAway = session?.takeGoAway() else { return nil }
    wasAskedForCalm = goAway.errorCode == HTTP2ErrorCode.enhanceYourCalm
    if wasAskedForCalm { answers.calm(sentAt: watch.lastSentAt) }
    lastStreamTaken = goAway.lastStreamID
    return context.account.reason(ofGoAway: goAway.debug)
      ?? "GOAWAY, error code \(goAway.errorCode)"
  }

  /// Takes out the pushes in flight when the connection is closed, but for those that are known to
  /// have been taken, or never to have been processed.
  private func takeOrphans() -> [ReadyPush] {
    var accepted = answers.begin()
    defer { answers.note(accepted) }
    return slots.occupied.compactMap { slot in
      let status = session?.status(of: slot) ?? 0
      let hasLeft = session?.hasLeft(slot: slot) ?? true
      guard let item = slots.empty(slot) else { return nil }
      if status != 0 { answered += 1 }
      if status != 0, isAccepted(status) {
        // The stream's end alone was lost, and the server has the push.
        answers.accepted(item.push, sentAt: item.sentAt, &accepted)
      } else if !hasLeft {
        answers.requeue(item.push)
      } else if isBeyondLast(item.stream) {
        answers.requeue(item.push, hadIt: true)
      } else {
        return item.push
      }
      return nil
    }
  }

  private func isAccepted(_ status: Int) -> Bool {
    answers.meaning(of: PlatformAnswer(status: status, body: [], isWhole: false)) == nil
  }

  // MARK: now and then

  func tick(now: UInt64) {
    if machine.phase == .greeting, watch.isGreetingTooLong(at: now) {
      return handle(.silent, "no SETTINGS after the TLS handshake")
    }
    guard machine.phase == .open || machine.phase == .draining else { return }
    let takes = machine.phase != .open || slots.inFlight > 0 || capacity > 0
    if watch.takesNothing(takes: takes, isWaitedFor: pool.hasWaitingPushes, at: now) {
      return handle(.silent, "open, but it took no pushes")
    }
    watch.fade()
    let (givenUp, longest) = giveUpOverdue(at: now)
    let isHeldUp = isForProbes && slots.inFlight > 0 && watch.isHeldUp(at: now)
    switch watch.judge(hasGivenUp: givenUp > 0, longest: longest, isHeldUp: isHeldUp, at: now) {
    case .none: break
    case .ping:
      session?.ping()
      watch.pinged(at: now)
    case .close(let reason): return handle(.silent, reason)
    }
    flush()
  }

  /// - Returns: how many, and for how long one has been in flight.
  private func giveUpOverdue(at now: UInt64) -> (count: Int, longest: UInt64) {
    var (count, unanswered, longest) = (0, 0, UInt64(0))
    for slot in slots.occupied {
      guard let item = slots[slot] else { continue }
      longest = max(longest, now &- item.sentAt)
      guard !item.isReset,
        watch.isOverdue(
          sentAt: item.sentAt, isForProbes: isForProbes, at: now,
          wereOthersAccepted: context.traffic.lastAcceptedAt > item.sentAt)
      else { continue }
      slots.setReset(slot)
      session?.reset(stream: item.stream, errorCode: HTTP2ErrorCode.cancel)
      count += 1
      // One whose answer has begun, and does not end, is not always sent again.
      if session?.status(of: slot) == 0 { unanswered += 1 }
    }
    if unanswered > 0 {
      context.report(.unanswered(context.server, pushes: unanswered))
    }
    return (count, longest)
  }

  // MARK: its use

  var openedAt: UInt64 { watch.openedAt }
  var wasOpened: Bool { watch.wasOpened }
  var isFresh: Bool { watch.isFresh }

  func end(at now: UInt64) -> ConnectionSlot.End {
    guard !wasAskedForCalm else { return .calm }
    guard slots.inFlight > 0 || orphans > 0 || !watch.isIdle(at: now) else { return .idle }
    // Those in flight will be answered, as far as is known.
    let taken = slots.occupied.count { slot in
      if let session, session.status(of: slot) != 0 { return true }
      guard let item = slots[slot], let last = lastStreamTaken else { return false }
      return item.stream <= last
    }
    return .carried(answered + taken)
  }
}

extension HTTP2Connection: ConnectionDelegate {
  /// The server has chosen HTTP/1.1: another takes over the transport, and the slot.
  private func becomeHTTP1(_ connection: Connection) {
    do {
      try pool.speaksHTTP1(self, over: connection)
      transport = nil
      session = nil
    } catch {
      handle(.lost, "\(error)")
    }
  }

  func connectionOpened(_ connection: Connection) {
    if context.target.mayUseHTTP1, connection.isEncrypted,
      connection.applicationProtocol != "h2"
    {
      return becomeHTTP1(connection)
    }
    watch.connected(at: now)
    handle(.opened, "")
    flush()
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    guard let session else { return }
    guard !session.isFlooded else {
      // It reads no answers of ours either: closing is all that is left.
      return handle(.lost, "the server sends too many frames for nothing, and reads none")
    }
    watch.received(at: now)
    do {
      try session.receive(bytes)
    } catch {
      return handle(.lost, "\(error)")
    }
    if session.takeSettingsChange() {
      cut.limited(to: min(session.remoteMaxConcurrentStreams, slots.capacity), at: now)
      handle(.settings, "")
    }
    if let reason = takeGoAway() { handle(.goAway, reason) }
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
    handle(.lost, error.map { "\($0)" } ?? "the server closed the connection")
  }
}
