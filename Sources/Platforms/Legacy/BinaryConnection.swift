import Deliver
import EventLoop
import Model
import Text
import Transport

/// A gateway of the legacy binary interface. A push that it has had for so long without a word is
/// taken for accepted. Each connection numbers its pushes from the first identifier on.
package struct BinaryInterface: PushInterface {
  package let silence: Duration
  package let applicationProtocols: [String] = []
  let firstIdentifier: UInt32

  package init(acceptedAfter: Duration, firstIdentifier: UInt32 = 1) {
    silence = acceptedAfter
    self.firstIdentifier = firstIdentifier
  }

  package func makeConnection(_ route: ConnectionRoute) -> any PushConnection {
    BinaryConnection(route, self)
  }
}

/// One connection of the legacy binary interface, which Apple retired on 2021-03-31 and private
/// gateways still speak: joins transport and `SentWindow`. There are no answers but one error
/// response, so silence is taken for assent, and what stands behind a refused push goes again.
/// Confined to its lane's loop.
final class BinaryConnection: PushConnection {
  /// Bytes for the socket beyond which no more frames are made.
  private static let outputLimit = 128 * 1024
  /// A connection that ends later than this after its last push was closed for being idle.
  private static let idleGrace: UInt64 = 1_000_000_000

  private let route: ConnectionRoute
  private let loop: EventLoop
  private var transport: Connection?
  private var machine = ConnectionMachine()
  private var window: SentWindow<StreamSlots.Slot>
  private var response: [UInt8] = []
  private var unknown: [StreamSlots.Slot] = []
  private let lookInterval: Duration
  /// With so many bytes all had left that was sent before this identifier.
  private var written: (bytes: UInt64, next: UInt32)?
  private var look: LoopTimer?
  /// Pushes of which the gateway's opinion is known.
  private var settled = 0
  /// Its only word was about a push that it had from here.
  private var hasJudged = false
  private var greetedAt: UInt64 = 0
  private var lastSentAt: UInt64 = 0
  /// No provider token: the interface has no place for one.
  let shown: any ShownCredentials
  /// A gateway closes where another server would say so.
  let wasSentAway = false
  /// It has no streams to take.
  let cut = StreamCut()
  let openedAt: UInt64

  init(_ route: ConnectionRoute, _ interface: BinaryInterface) {
    self.route = route
    loop = route.loop
    window = SentWindow(
      capacity: route.options.streamsPerConnection,
      acceptedAfter: interface.silence.nanoseconds, firstIdentifier: interface.firstIdentifier)
    lookInterval = min(max(interface.silence / 4, .milliseconds(5)), .milliseconds(500))
    openedAt = route.loop.now
    shown = route.makeShownCredentials()
  }

  func connect() {
    let transport = route.makeTransport(self, shown)
    self.transport = transport
    transport.connect()
  }

  // MARK: sending

  var phase: ConnectionMachine.Phase { machine.phase }
  var inFlight: Int { window.count }
  var capacity: Int {
    guard machine.phase == .open, let transport, transport.pendingBytes < Self.outputLimit
    else { return 0 }
    return window.room
  }

  var streams: Int { machine.phase == .open ? window.capacity : 0 }

  /// There is no way to ask: the kernel's probes find out.
  func isAlive(at now: UInt64) -> Bool { true }

  func send(
    _ run: ReadyRun, headers: SharedHeaders, isCredentialCheck: Bool, now: UInt64
  ) -> (sent: Int, end: RequestSender.End) {
    var item = run.item(headers, isCredentialCheck: isCredentialCheck, at: now)
    for sent in 0..<run.count {
      guard capacity > 0 else { return (sent, endOfRun(.full)) }
      guard let frame = BinaryFrames.frame(item, identifier: window.next) else {
        return (sent, .refusedHeaders)
      }
      frame.withUnsafeBytes { transport?.write($0) }
      window.sent(item)
      lastSentAt = now
      item.push.index += 1
      if look == nil { lookLater() }
    }
    return (run.count, endOfRun(.allSent))
  }

  /// The last identifier says so itself: nobody asks a connection again that has no room.
  private func endOfRun(_ end: RequestSender.End) -> RequestSender.End {
    window.isUsedUp ? .usedUp(reason: "identifiers are used up") : end
  }

  /// Does nothing: written bytes leave at the end of the turn.
  func flushIfNeeded() {}

  // MARK: silence

  private func lookLater() {
    look = loop.schedule(after: lookInterval) { [weak self] in self?.lookAtSilence() }
  }

  /// Accepts the pushes that the gateway's host has had for long enough.
  private func lookAtSilence() {
    look = nil
    // Input that came while this thread was busy, or stood still, ends the silence.
    transport?.readNow()
    guard let transport, machine.phase == .open || machine.phase == .draining else { return }
    noteDelivery(transport)
    accept(window.silence(at: loop.now))
    if window.count > 0 { lookLater() }
    closeWhenDrained()
  }

  /// Also while more is sent all the time: what was written at one look is compared with what is
  /// acknowledged at a later one.
  private func noteDelivery(_ transport: Connection) {
    if let written, transport.acknowledgedBytes >= written.bytes {
      window.delivered(before: written.next, at: loop.now)
      self.written = nil
    }
    guard written == nil, window.hasUndelivered, transport.pendingBytes == 0 else { return }
    written = (transport.sentBytes, window.next)
    if transport.acknowledgedBytes >= transport.sentBytes { noteDelivery(transport) }
  }

  private func accept(_ items: [StreamSlots.Slot]) {
    guard !items.isEmpty else { return }
    settled += items.count
    route.accepted(items)
  }

  // MARK: the gateway's only word

  private func hear(_ response: LegacyErrorResponse) {
    let verdict = window.refused(response.identifier, response.status)
    hasJudged = verdict.isKnown
    unknown = verdict.unknown
    accept(verdict.accepted)
    // Before anything is sent again: it takes no more.
    for item in verdict.again { route.requeue(item) }
    if let item = verdict.refused, let disposition = response.status.disposition {
      settled += 1
      let status = Int(response.status.code)
      route.refused(
        item, disposition, counted: .init(status: status, reason: nil, interface: "binary"),
        on: self)
    }
    if verdict.late > 0 {
      route.options.report(.refusedLate(route.endpoint, pushes: verdict.late))
    }
    handle(.lost, "the gateway refused a push and closed: \(response.status.words)")
  }

  // MARK: its end

  func retire(_ reason: String) {
    handle(.retire, reason)
    closeWhenDrained()
  }

  func stop() { handle(.stop, "stopping") }

  private func closeWhenDrained() {
    guard machine.phase == .draining, window.count == 0 else { return }
    handle(.drained, "drained")
  }

  func handle(_ event: ConnectionMachine.Event, _ reason: String) {
    let action = machine.handle(event)
    switch action {
    case .none: return
    case .becomeReady: route.ready(self)
    case .replace: route.replace(self, reason: reason)
    case .closeAndReplace, .close:
      look?.cancel()
      transport?.close()
      transport = nil
      unknown += window.ended()
      route.closed(
        self, orphans: unknown, mustReplace: action == .closeAndReplace, reason: reason)
    }
  }

  /// A gateway that has refused a push is in good order, however few it took before. One that names
  /// none of ours may say so on each connection.
  func end(at now: UInt64) -> ConnectionSlot.End {
    if hasJudged { return .carried(max(settled, ConnectionSlot.usefulPushes)) }
    let lastUsedAt = max(greetedAt, lastSentAt)
    guard unknown.isEmpty, wasOpened, now &- lastUsedAt >= Self.idleGrace else {
      return .carried(settled)
    }
    return .idle
  }

  var wasOpened: Bool { greetedAt > 0 }
  var isFresh: Bool { lastSentAt == 0 }

  /// Only answers could say that one is late.
  func tick(now: UInt64) {}
}

extension BinaryConnection: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {
    greetedAt = loop.now
    handle(.opened, "")
    // The gateway has no greeting.
    handle(.settings, "")
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    response += bytes.prefix(LegacyErrorResponse.byteCount - response.count)
    guard response.count == LegacyErrorResponse.byteCount else { return }
    guard let heard = LegacyErrorResponse(response) else {
      return handle(.lost, "the gateway does not speak the binary interface")
    }
    hear(heard)
  }

  func connectionDrained(_ connection: Connection) { route.hasCapacity() }

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    handle(.lost, error.map { "\($0)" } ?? "the gateway closed the connection")
  }
}

/// Pushes as frames of the legacy binary interface: command 2, which alone has a priority. Topic,
/// push type and collapse id have no place there: the gateway knows the app by the certificate.
enum BinaryFrames {
  /// Nil for a push that no gateway takes: a payload beyond 2 KiB.
  static func frame(_ item: StreamSlots.Slot, identifier: UInt32) -> [UInt8]? {
    let batch = item.push.batch
    let entry = batch[item.push.index]
    let bytes = batch.bytes
    let headers = batch.headers
    guard let token = token(hex: bytes[entry.token]) else { return nil }
    var notification = LegacyNotification(token: token, payload: Array(bytes[entry.payload]))
    notification.identifier = identifier
    notification.expiration = UInt32(clamping: headers.expiration)
    notification.priority = headers.priority == 10 ? 10 : 5
    return notification.frame(.framed)
  }

  private static func token(hex: UnsafeRawBufferPointer) -> [UInt8]? {
    guard hex.count % 2 == 0 else { return nil }
    var token: [UInt8] = []
    token.reserveCapacity(hex.count / 2)
    for place in stride(from: 0, to: hex.count, by: 2) {
      guard let high = hex[place].hexValue, let low = hex[place + 1].hexValue else { return nil }
      token.append(high << 4 | low)
    }
    return token
  }
}
