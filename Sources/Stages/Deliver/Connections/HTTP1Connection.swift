import EventLoop
import HTTP2
import Model
import Text
import Transport

/// One HTTP/1.1 connection with the push in flight on it: joins transport and answer reader.
/// Confined to its lane's loop.
///
/// Each request waits for the answer to the one before (RFC 9112, section 9.3.2: who pipelines may
/// lose requests and not know which). There is no SETTINGS, GOAWAY, RST_STREAM or PING, so its
/// `ConnectionMachine` gets its events from other things than an `HTTP2Connection`'s:
///
/// - `settings` comes with `opened`;
/// - an answer with which the server ends the connection (`Connection: close`) is `lost`, with
///   nothing in flight;
/// - a push that is given up is `silent`: nothing less than the connection can be;
/// - a connection that was quiet for a while is `lost` in place of a PING: another costs as much.
final class HTTP1Connection: PushConnection {
  static let protocolName = "http/1.1"

  private let context: RouteContext
  private unowned let pool: ConnectionPool
  private let answers: AnswerJudge
  /// It is a probe connection.
  private let isForProbes: Bool
  private var transport: Connection?
  private var machine = ConnectionMachine()
  private var watch: ConnectionWatch
  private let writer: any RequestWriter
  private var reader: HTTP1AnswerReader
  private let keptField: [UInt8]?
  private var request: [UInt8] = []
  private var hasWork = false
  /// The push in flight.
  private var current: StreamSlots.Slot?
  /// Its request has gone to the socket, to the last byte: before that no server can take it.
  private var hasLeft = false
  private(set) var shown: any ShownCredentials
  /// It has no streams that could be taken.
  let cut = StreamCut()
  /// The server ended it with an answer.
  private(set) var wasSentAway = false
  /// Pushes that were answered, and whether one of them was accepted.
  private var answered = 0
  private var hasAccepted = false
  /// Pushes that were in flight when it was lost.
  private var orphans = 0

  init(
    _ context: RouteContext, isForProbes: Bool, pool: ConnectionPool, answers: AnswerJudge
  ) throws(HTTP2Error) {
    self.context = context
    self.pool = pool
    self.answers = answers
    self.isForProbes = isForProbes
    watch = ConnectionWatch(openedAt: context.loop.now, context.options)
    shown = context.account.makeShownCredentials()
    writer = try context.account.makeRequestWriter(
      authority: context.target.endpoint.authority, slots: 1)
    keptField = context.account.keptField.map { Array($0.utf8) }
    reader = HTTP1AnswerReader(
      keptBodyBytes: context.account.keptBodyBytes,
      keptFields: [RetryAfter.fieldName] + (keptField.map { [$0] } ?? []))
  }

  func connect() {
    transport = context.makeTransport(self, shown, offering: [Self.protocolName])
    transport?.connect()
  }

  /// In place of `connect`: this one is open, and its server has chosen HTTP/1.1.
  func take(_ transport: Connection, shown: any ShownCredentials) {
    self.transport = transport
    self.shown = shown
    transport.delegate = self
    connectionOpened(transport)
  }

  private var now: UInt64 { context.loop.now }
  var phase: ConnectionMachine.Phase { machine.phase }
  var inFlight: Int { current == nil ? 0 : 1 }
  var capacity: Int { machine.phase == .open ? 1 - inFlight : 0 }
  var streams: Int { machine.phase == .open ? 1 : 0 }

  /// After a quiet time something on the way may have dropped it without a word.
  func isAlive(at now: UInt64) -> Bool {
    guard machine.phase == .open, current == nil, watch.isDoubtful(at: now) else { return true }
    handle(.lost, "quiet for too long to be sent on")
    return false
  }

  // MARK: sending

  func send(
    _ run: ReadyRun, headers: SharedHeaders, isCredentialCheck: Bool, now: UInt64
  ) -> (sent: Int, end: RequestSender.End) {
    guard capacity > 0, let transport else { return (0, .full) }
    let batch = run.first.batch
    guard let fields = writer.fields(sharing: headers),
      let body = writer.fill(fields, for: batch[run.first.index], in: batch.bytes, slot: 0)
    else { return (0, .refusedHeaders) }
    request.removeAll(keepingCapacity: true)
    HTTP1Request.write(fields, body: body, to: &request)
    reader.begin()
    hasLeft = false
    current = run.item(headers, isCredentialCheck: isCredentialCheck, at: now)
    request.withUnsafeBytes { transport.write($0) }
    watch.sent(at: now)
    shown.show(headers.credential, at: now)
    hasWork = true
    return (1, run.count > 1 ? .full : .allSent)
  }

  func flushIfNeeded() {
    guard hasWork else { return }
    hasWork = false
    transport?.flush()
  }

  // MARK: answers

  private func settle(_ item: StreamSlots.Slot) {
    let answer = reader.answer
    answered += 1
    watch.answered(sentAt: item.sentAt, isGivenUp: !answer.isWhole, at: now)
    let meaning = answers.meaning(
      of: PlatformAnswer(
        status: answer.status, body: answer.body, isWhole: answer.isWhole,
        detail: keptField.flatMap { answer.fields[$0] }.map { String(decoding: $0, as: UTF8.self) })
    )
    guard let meaning else {
      hasAccepted = true
      var accepted = answers.begin()
      answers.accepted(item.push, sentAt: item.sentAt, &accepted)
      return answers.note(accepted)
    }
    let retryAfter = answer.fields[RetryAfter.fieldName]?.withUnsafeBytes {
      RetryAfter.parse($0, now: context.options.wallClock())
    }
    answers.refused(item, meaning, retryAfter: retryAfter, on: self)
  }

  private func answerEnded() {
    guard let item = current.take() else { return }
    settle(item)
    if reader.answer.endsConnection || !hasLeft {
      wasSentAway = true
      handle(.lost, "the server ended the connection with its answer")
    }
    closeWhenDrained()
    context.signals.schedulePump()
  }

  // MARK: its end

  func retire(_ reason: String) {
    handle(.retire, reason)
    closeWhenDrained()
  }

  func stop() { handle(.stop, "stopping") }

  private func closeWhenDrained() {
    guard machine.phase == .draining, current == nil else { return }
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
      transport = nil
      let lost = takeOrphan()
      orphans = lost.count
      pool.closed(self, orphans: lost, mustReplace: action == .closeAndReplace, reason: reason)
    }
  }

  /// Takes out the push in flight when the connection is closed, but for one whose answer has
  /// begun, or whose request has not left.
  private func takeOrphan() -> [ReadyPush] {
    guard let item = current.take() else { return [] }
    if reader.answer.status != 0 {
      wasSentAway = reader.answer.endsConnection
      settle(item)
    } else if hasLeft {
      return [item.push]
    } else {
      answers.requeue(item.push)
    }
    return []
  }

  // MARK: now and then

  func tick(now: UInt64) {
    watch.fade()
    guard machine.phase == .open || machine.phase == .draining, let item = current,
      watch.isOverdue(
        sentAt: item.sentAt, isForProbes: isForProbes, at: now,
        wereOthersAccepted: context.traffic.lastAcceptedAt > item.sentAt)
    else { return }
    context.report(.unanswered(context.server, pushes: 1))
    handle(.silent, "no answer to a push")
  }

  // MARK: its use

  var openedAt: UInt64 { watch.openedAt }
  var wasOpened: Bool { watch.wasOpened }
  var isFresh: Bool { watch.isFresh }

  /// A server that ends connections with its answers, and takes pushes, sets the pace.
  func end(at now: UInt64) -> ConnectionSlot.End {
    if wasSentAway, hasAccepted { return .carried(max(answered, ConnectionSlot.usefulPushes)) }
    guard inFlight > 0 || orphans > 0 || !watch.isIdle(at: now) else { return .idle }
    return .carried(answered)
  }
}

extension HTTP1Connection: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {
    watch.connected(at: now)
    handle(.opened, "")
    handle(.settings, "")
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    watch.received(at: now)
    guard current != nil else {
      // A server that is about to close may say so: 408, for nothing that was asked.
      return handle(.lost, "the server sent what nothing was asked for")
    }
    do {
      if try reader.receive(bytes) { answerEnded() }
    } catch {
      handle(.lost, "\(error)")
    }
  }

  func connectionDrained(_ connection: Connection) { hasLeft = true }

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    reader.closed(inOrder: error == nil)
    handle(.lost, error.map { "\($0)" } ?? "the server closed the connection")
  }
}

/// Requests as HTTP/1.1 has them on the wire (RFC 9112, section 3), made of what a `RequestWriter`
/// gives for HTTP/2. No value can end its line: `HTTP2FieldBlock` takes none that holds CR, LF or
/// NUL, and no path or authority with a space.
package enum HTTP1Request {
  /// Writes a request behind what is in `target`.
  package static func write(
    _ fields: HTTP2FieldBlock, body: UnsafeRawBufferPointer, to target: inout [UInt8]
  ) {
    var method: [UInt8] = []
    var path: [UInt8] = []
    var authority: [UInt8] = []
    fields.withEach { name, value in
      switch String(decoding: name, as: UTF8.self) {
      case ":method": method = Array(value)
      case ":path": path = Array(value)
      case ":authority": authority = Array(value)
      default: break
      }
    }
    target += method + Array(" ".utf8) + path + Array(" HTTP/1.1\r\nhost: ".utf8) + authority
    target += Array("\r\n".utf8)
    fields.withEach { name, value in
      guard name.first != UInt8(ascii: ":") else { return }
      target += name
      target += Array(": ".utf8)
      target += value
      target += Array("\r\n".utf8)
    }
    target += Array("content-length: \(body.count)\r\n\r\n".utf8)
    target += body
  }
}
