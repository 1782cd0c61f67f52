import EventLoop
import HTTP2
import Model
import Transport

/// One HTTP/2 connection to APNs with the pushes in flight on it: joins transport, session and
/// slots. It says what happened to its route, which decides. What it hears is in
/// APNsConnection+Transport, what it does not hear in APNsConnection+Time. Confined to its lane's
/// loop.
final class APNsConnection {
  /// Bytes for the socket beyond which no more frames are made: about 200 pushes.
  private static let outputLimit = 128 * 1024
  /// In nanoseconds: a connection without anything in flight for longer is idle.
  private static let idleGrace: UInt64 = 1_000_000_000

  let target: APNsRoute
  unowned let pool: ConnectionPool
  private let judge: AnswerJudge
  private let losses: LossJudge
  let signals: RouteSignals
  let loop: EventLoop
  let options: DeliverOptions
  private(set) var transport: Connection?
  var session: HTTP2ClientSession?
  var machine = ConnectionMachine()
  let slots: StreamSlots
  private let blocks: RequestBlocks
  private var unwrittenBodyBytes = 0
  var lastHeardAt: UInt64 = 0
  var lastAnswerAt: UInt64 = 0
  var answerTimes = AnswerTimes()
  /// When it was connected; 0 before.
  var greetingAt: UInt64 = 0
  var pingSentAt: UInt64?
  /// Asked for a sign of life before it is sent on again.
  var isProving = false
  /// Nothing else goes with what is in flight on it.
  var carriesSuspects = false
  /// Open, with nothing in flight, and takes nothing since then; nil when it does.
  var takesNothingSince: UInt64?
  /// It is closed for that: as little use as a connection that failed.
  var tookNothing = false
  var hasWork = false
  let openedAt: UInt64
  /// When the route's server had taken a push last as this was opened; 0: never.
  let takenBefore: UInt64
  /// Pushes that were answered.
  private var answers = 0
  /// Named by the server's GOAWAY: it looks at the streams up to this one.
  var lastStreamTaken: Int32?
  /// Pushes that were in flight when it was lost.
  private var orphans = 0
  private var lastSentAt: UInt64 = 0

  init(
    _ setup: RouteSetup, pool: ConnectionPool, traffic: RouteTraffic, answers: AnswerJudge,
    losses: LossJudge, signals: RouteSignals
  ) throws(HTTP2Error) {
    target = setup.target
    loop = setup.loop
    options = setup.options
    self.pool = pool
    judge = answers
    self.losses = losses
    self.signals = signals
    openedAt = loop.now
    takenBefore = traffic.lastAcceptedAt
    slots = StreamSlots(capacity: options.streamsPerConnection)
    blocks = try RequestBlocks(authority: target.endpoint.host)
    var sessionOptions = HTTP2ClientOptions()
    sessionOptions.maximumSlots = options.streamsPerConnection
    sessionOptions.keptBodyBytes = Answer.maximumBytes
    sessionOptions.keptFields = .named(RetryAfter.fieldName)
    session = try HTTP2ClientSession(options: sessionOptions)
  }

  func connect() {
    let transport = Connection(
      to: target.endpoint, tls: target.tls,
      options: TransportOptions(connectTimeout: options.connectTimeout), loop: loop, delegate: self)
    self.transport = transport
    transport.connect()
  }

  var phase: ConnectionMachine.Phase { machine.phase }
  var inFlight: Int { slots.inFlight }

  /// How many more pushes the connection takes now: its own bound, the server's streams, room in
  /// the connection's flow-control window (about 280 bodies in Apple's 64 KiB) and in the socket.
  var capacity: Int {
    guard machine.phase == .open, let session, let transport else { return 0 }
    let streams = min(slots.capacity, session.remoteMaxConcurrentStreams) - slots.inFlight
    let window = session.remoteConnectionWindow - unwrittenBodyBytes
    guard streams > 0, window > 0, transport.pendingBytes < Self.outputLimit else { return 0 }
    return streams
  }

  /// Whether the next push of `size` bytes may go now; asked again for each of those in `capacity`.
  func hasWindow() -> Bool {
    guard let session else { return false }
    return session.remoteConnectionWindow > unwrittenBodyBytes
  }

  // MARK: sending

  /// Why it took no more of a run.
  enum End {
    case allSent
    /// No stream or no window is left.
    case full
    /// The next push has bytes in a header that must not be there.
    case refusedHeaders
    /// Its stream identifiers are used up, after a thousand million pushes: retire it.
    case usedUp(reason: String)
  }

  /// Hands pushes to nghttp2, as many as it takes; `flush` puts them on the wire. Only when
  /// `capacity` is positive.
  func send(
    _ run: ReadyRun, headers: EncodedHeaders, isProbe: Bool, now: UInt64
  ) -> (sent: Int, end: End) {
    guard let session else { return (0, .full) }
    guard let block = blocks.block(for: headers) else { return (0, .refusedHeaders) }
    let batch = run.first.batch
    let bytes = batch.bytes
    let window = session.remoteConnectionWindow
    var unwritten = unwrittenBodyBytes
    var item = StreamSlots.Slot(push: run.first, headers: headers, sentAt: now, stream: 0)
    item.push.isFirst = false
    item.push.isProbe = isProbe
    var sent = 0
    var end = End.allSent
    while sent < run.count {
      guard unwritten < window, let slot = slots.next else {
        end = .full
        break
      }
      let entry = batch[item.push.index]
      let path = slots.path(slot, token: bytes[entry.token])
      guard block.set(EncodedHeaders.Field.path, path),
        block.set(EncodedHeaders.Field.apnsID, bytes[entry.apnsID])
      else {
        end = .refusedHeaders
        break
      }
      do {
        item.stream = try session.submit(block, body: bytes[entry.payload], slot: slot)
      } catch {
        end = .usedUp(reason: "\(error)")
        break
      }
      slots.fill(slot, item)
      unwritten += Int(entry.payload.count)
      item.push.index += 1
      sent += 1
    }
    unwrittenBodyBytes = unwritten
    if sent > 0 {
      lastSentAt = now
      hasWork = true
    }
    return (sent, end)
  }

  /// Puts on the wire what was sent, and what nghttp2 has to say besides.
  func flush() {
    hasWork = false
    guard let session, let transport, machine.phase != .connecting, machine.phase != .closed
    else { return }
    do {
      var room = Self.outputLimit - transport.pendingBytes
      while room > 0 {
        guard let bytes = try session.nextOutput() else {
          unwrittenBodyBytes = 0
          break
        }
        transport.write(bytes)
        room -= bytes.count
      }
    } catch {
      lose("\(error)")
      return
    }
    transport.flush()
    if session.hasEnded { settleEnded() }
  }

  func flushIfNeeded() { if hasWork { flush() } }

  // MARK: its end

  /// Takes no new pushes and closes when those in flight are answered.
  func retire(_ reason: String) {
    perform(machine.handle(.retire), reason)
    closeWhenDrained()
  }

  func stop() { close(.stop, "stopping") }

  // MARK: the machine's actions

  func lose(_ reason: String) { close(.lost, reason) }

  func close(_ event: ConnectionMachine.Event, _ reason: String) {
    perform(machine.handle(event), reason)
  }

  func closeWhenDrained() {
    guard machine.phase == .draining, slots.inFlight == 0 else { return }
    perform(machine.handle(.drained), "drained")
  }

  func perform(_ action: ConnectionMachine.Action, _ reason: String) {
    switch action {
    case .none: return
    case .becomeReady: pool.ready(self)
    case .replace: pool.replace(self, reason: reason)
    case .closeAndReplace, .close:
      transport?.close()
      if let goAway = session?.takeGoAway() { lastStreamTaken = goAway.lastStreamID }
      settleEnded()
      orphans = slots.inFlight
      let lost = takeInFlight()
      session = nil
      transport = nil
      pool.closed(self, orphans: lost, mustReplace: action == .closeAndReplace, reason: reason)
    }
  }

  // MARK: of what use it was

  /// TCP and TLS were set up.
  var wasOpened: Bool { greetingAt > 0 }

  /// Nothing was sent on it.
  var isFresh: Bool { lastSentAt == 0 }

  /// When it opened, was sent on or answered last.
  var lastUsedAt: UInt64 { max(greetingAt, lastSentAt, lastAnswerAt) }

  /// Asked when it takes no more pushes.
  func end(at now: UInt64) -> ConnectionPlace.End {
    let taken = slots.occupied.count { slot in
      if let session, session.status(of: slot) != 0 { return true }
      guard let item = slots[slot], let last = lastStreamTaken else { return false }
      return item.stream <= last
    }
    let carried = answers + taken
    guard carried == 0 || slots.inFlight == 0 else { return .carried(carried) }
    let isQuiet = isProving || now &- lastUsedAt >= Self.idleGrace
    return greetingAt > 0 && orphans == 0 && isQuiet && !tookNothing ? .idle : .carried(carried)
  }

  private func takeInFlight() -> [ReadyPush] {
    var accepted = judge.begin()
    defer { judge.note(accepted) }
    return slots.occupied.compactMap { slot in
      let status = session?.status(of: slot) ?? 0
      let hasLeft = session?.hasLeft(slot: slot) ?? true
      guard let item = slots.empty(slot) else { return nil }
      if status != 0 { answers += 1 }
      // Its head says all there is to say: the stream's end alone was lost, and Apple has the push.
      guard status != 200 else {
        judge.accepted(item.push, sentAt: item.sentAt, &accepted)
        return nil
      }
      if !hasLeft || isBeyondLast(item.stream) {
        judge.putBack(item.push)
        return nil
      }
      return item.push
    }
  }

  /// Judges the streams that ended.
  func settleEnded() {
    guard let session else { return }
    var accepted = judge.begin()
    var times = answerTimes
    while let ended = session.nextEnded() {
      guard let item = slots.empty(ended.slot) else { continue }
      if ended.status != 0 {
        answers += 1
        lastAnswerAt = loop.now
        // That we gave it up says nothing of how long answers take.
        if !item.isReset { times.answered(sentAt: item.sentAt, at: lastAnswerAt) }
      }
      guard ended.status != 200 else {
        judge.accepted(item.push, sentAt: item.sentAt, &accepted)
        continue
      }
      // A failure may change the rate: those that came before are judged by the one before.
      judge.note(accepted)
      if ended.status == 0 {
        settleUnanswered(item, ended)
      } else {
        judge.answered(
          item.push, status: ended.status, body: ended.content?.body ?? [],
          retryAfter: retryAfter(ended.content), on: self, item)
      }
      accepted = judge.begin()
    }
    answerTimes = times
    judge.note(accepted)
    closeWhenDrained()
  }

  private func retryAfter(_ content: HTTP2Content?) -> Duration? {
    content?.value(of: RetryAfter.fieldName)?.withUnsafeBytes {
      RetryAfter.parse($0, now: options.wallClock())
    }
  }

  /// A stream beyond the last one that a GOAWAY names was not looked at (RFC 9113, section 6.8).
  private func isBeyondLast(_ stream: Int32) -> Bool {
    lastStreamTaken.map { stream > $0 } ?? false
  }

  private func settleUnanswered(_ item: StreamSlots.Slot, _ ended: HTTP2Ended) {
    let isRefused = ended.errorCode == HTTP2ErrorCode.refusedStream
    let isUntouched =
      !ended.wasSent || isBeyondLast(item.stream)
      // We gave it up before the server had it.
      || (item.isReset && !ended.wasWhole)
    if isUntouched {
      judge.putBack(item.push)
    } else if item.isReset {
      losses.lost([item.push])
    } else {
      judge.reset(item.push, isRefused: isRefused, sentAt: item.sentAt)
    }
  }
}
