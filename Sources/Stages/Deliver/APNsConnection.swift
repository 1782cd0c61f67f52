import EventLoop
import HTTP2
import Model
import Transport

/// One HTTP/2 connection to APNs with the pushes in flight on it: joins transport, session and slots. It says
/// what happened to its route, which decides. Confined to its lane's loop.
final class APNsConnection {
  /// Bytes for the socket beyond which no more frames are made: about 200 pushes.
  private static let outputLimit = 128 * 1024

  private unowned let route: Route
  private let loop: EventLoop
  private let options: DeliverOptions
  private var transport: Connection?
  private var session: HTTP2ClientSession?
  private var machine = ConnectionMachine()
  private var slots: StreamSlots
  /// Bodies of refusals, by slot; accepted pushes have none.
  private var bodies: [Int: [UInt8]] = [:]
  private var finished: [(slot: Int, errorCode: UInt32)] = []
  private let plainBlock: HTTP2FieldBlock
  private let collapsingBlock: HTTP2FieldBlock
  private var headersInBlock: EncodedHeaders?
  /// The last ones used: nghttp2 borrows their bytes while a request waits to be written.
  private var tokens: [ProviderToken] = []
  private var unwrittenBodyBytes = 0
  private var lastHeardAt: UInt64 = 0
  private var pingSentAt: UInt64?
  private var goAwayReason: String?
  private var hasWork = false
  private var gotSettings = false
  let openedAt: UInt64
  private(set) var answers = 0

  init(route: Route, loop: EventLoop, options: DeliverOptions) throws(HTTP2Error) {
    self.route = route
    self.loop = loop
    self.options = options
    openedAt = loop.now
    slots = StreamSlots(capacity: options.streamsPerConnection)
    let host = route.target.endpoint.host
    plainBlock = try EncodedHeaders.makeBlock(authority: host, collapses: false)
    collapsingBlock = try EncodedHeaders.makeBlock(authority: host, collapses: true)
    var sessionOptions = HTTP2ClientOptions()
    sessionOptions.maximumSlots = options.streamsPerConnection
    session = try HTTP2ClientSession(
      options: sessionOptions, delegate: self)
  }

  deinit { slots.deallocate() }

  func connect() {
    let transport = Connection(
      to: route.target.endpoint, tls: route.target.tls,
      options: TransportOptions(connectTimeout: options.connectTimeout), loop: loop, delegate: self)
    self.transport = transport
    transport.connect()
  }

  var phase: ConnectionMachine.Phase { machine.phase }
  var inFlight: Int { slots.inFlight }

  /// How many more pushes the connection takes now: its own bound, the server's streams, room in the
  /// connection's flow-control window (about 280 bodies in Apple's 64 KiB) and in the socket.
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

  enum Sent { case sent, refusedHeaders, failed }

  /// Hands a push to nghttp2; `flush` puts it on the wire. Only when `capacity` is positive.
  func send(_ push: ReadyPush, headers: EncodedHeaders, token: ProviderToken, now: UInt64) -> Sent {
    guard let session, let slot = slots.take() else { return .failed }
    let block = headers.headers.collapseID == nil ? plainBlock : collapsingBlock
    if headersInBlock !== headers || tokens.last !== token {
      guard prepare(block, headers, token) else {
        slots.giveBack(slot)
        return .refusedHeaders
      }
    }
    let entry = push.batch.entries[push.index]
    let bytes = push.batch.bytes
    let path = slots.path(slot, token: bytes[entry.token])
    guard block.set(EncodedHeaders.Field.path, path),
      block.set(EncodedHeaders.Field.apnsID, bytes[entry.apnsID])
    else {
      slots.giveBack(slot)
      return .refusedHeaders
    }
    do {
      let stream = try session.submit(block, body: bytes[entry.payload], slot: slot)
      slots[slot] = StreamSlots.Slot(push: push, headers: headers, sentAt: now, stream: stream)
      unwrittenBodyBytes += Int(entry.payload.count)
      hasWork = true
      return .sent
    } catch {
      slots.giveBack(slot)
      return .failed
    }
  }

  private func prepare(
    _ block: HTTP2FieldBlock, _ headers: EncodedHeaders, _ token: ProviderToken
  ) -> Bool {
    if tokens.last !== token {
      tokens.append(token)
      if tokens.count > 3 { tokens.removeFirst() }
    }
    headersInBlock = nil
    guard headers.apply(to: block),
      block.set(EncodedHeaders.Field.authorization, token.authorization.bytes)
    else { return false }
    headersInBlock = headers
    return true
  }

  /// Puts on the wire what was sent, and what nghttp2 has to say besides.
  func flush() {
    hasWork = false
    guard let session, let transport, machine.phase != .connecting, machine.phase != .closed
    else { return }
    do {
      while transport.pendingBytes < Self.outputLimit {
        guard let bytes = try session.nextOutput() else {
          unwrittenBodyBytes = 0
          break
        }
        transport.write(bytes)
      }
    } catch {
      lose("\(error)")
      return
    }
    transport.flush()
    if !finished.isEmpty { settleFinished() }
  }

  func flushIfNeeded() { if hasWork { flush() } }

  // MARK: time

  /// Gives up on streams without an answer and asks a quiet server for a sign of life.
  func tick(now: UInt64) {
    guard machine.phase == .open || machine.phase == .draining, let session else { return }
    var unanswered = 0
    let limit = options.requestTimeout.nanoseconds
    for slot in slots.occupied {
      guard let item = slots[slot], !item.isReset, now &- item.sentAt > limit else { continue }
      slots.setReset(slot)
      session.reset(stream: item.stream, errorCode: HTTP2ErrorCode.cancel)
      unanswered += 1
    }
    if unanswered > 0 { options.report(.unanswered(route.target.endpoint, pushes: unanswered)) }
    if let pingSentAt {
      if now &- pingSentAt > options.pingTimeout.nanoseconds {
        close(.silent, "no answer to PING")
        return
      }
    } else if unanswered > 0 || now &- lastHeardAt > options.pingInterval.nanoseconds {
      session.ping()
      pingSentAt = now
    }
    flush()
  }

  /// Takes no new pushes and closes when those in flight are answered.
  func retire(_ reason: String) {
    perform(machine.handle(.retire), reason)
    closeWhenDrained()
  }

  func stop() { close(.stop, "stopping") }

  // MARK: the machine's actions

  private func lose(_ reason: String) { close(.lost, reason) }

  private func close(_ event: ConnectionMachine.Event, _ reason: String) {
    perform(machine.handle(event), reason)
  }

  private func closeWhenDrained() {
    guard machine.phase == .draining, slots.inFlight == 0 else { return }
    perform(machine.handle(.drained), "drained")
  }

  private func perform(_ action: ConnectionMachine.Action, _ reason: String) {
    switch action {
    case .none: return
    case .becomeReady: route.ready(self)
    case .replace: route.replace(self, reason: reason)
    case .closeAndReplace, .close:
      transport?.close()
      settleFinished()
      let orphans = takeInFlight()
      session = nil
      transport = nil
      route.closed(self, orphans: orphans, mustReplace: action == .closeAndReplace, reason: reason)
    }
  }

  private func takeInFlight() -> [ReadyPush] {
    slots.occupied.compactMap { slot in
      let push = slots[slot].map {
        ReadyPush(batch: $0.push.batch, index: $0.push.index, tries: $0.push.tries + 1)
      }
      slots.giveBack(slot)
      return push
    }
  }

  /// Judges the streams that ended. Outside of nghttp2's callbacks, which may not be re-entered.
  private func settleFinished() {
    var position = 0
    while position < finished.count {
      let (slot, errorCode) = finished[position]
      position += 1
      guard let item = slots[slot] else { continue }
      let body = item.status == 200 ? nil : bodies.removeValue(forKey: slot)
      slots.giveBack(slot)
      answers += 1
      let push = ReadyPush(
        batch: item.push.batch, index: item.push.index, tries: item.push.tries + 1)
      if item.status == 0 {
        route.unanswered(push, refused: errorCode == HTTP2ErrorCode.refusedStream)
      } else if item.status == 200 {
        push.batch.settle(push.index, .accepted)
      } else {
        route.answered(push, status: Int(item.status), body: body ?? [], on: self, tokens.last)
      }
    }
    finished.removeAll(keepingCapacity: true)
    closeWhenDrained()
  }
}

extension APNsConnection: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {
    lastHeardAt = loop.now
    perform(machine.handle(.opened), "")
    flush()
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    guard let session else { return }
    lastHeardAt = loop.now
    pingSentAt = nil
    do {
      try session.receive(bytes)
    } catch {
      lose("\(error)")
      return
    }
    if gotSettings {
      gotSettings = false
      perform(machine.handle(.settings), "")
    }
    if let reason = goAwayReason {
      goAwayReason = nil
      perform(machine.handle(.goAway), reason)
    }
    settleFinished()
    hasWork = true
    route.schedulePump()
  }

  func connectionDrained(_ connection: Connection) {
    guard machine.phase == .open || machine.phase == .draining else { return }
    hasWork = true
    route.schedulePump()
  }

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    lose(error.map { "\($0)" } ?? "the server closed the connection")
  }
}

extension APNsConnection: HTTP2ClientDelegate {
  func http2(slot: Int, status: Int) { slots.setStatus(slot, status) }

  func http2(slot: Int, header name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {}

  func http2(slot: Int, body: UnsafeRawBufferPointer) {
    let room = Answer.maximumBytes - (bodies[slot]?.count ?? 0)
    guard room > 0, !body.isEmpty else { return }
    bodies[slot, default: []].append(contentsOf: body.prefix(room))
  }

  func http2(slot: Int, closed errorCode: UInt32) { finished.append((slot, errorCode)) }

  func http2GoAway(lastStreamID: Int32, errorCode: UInt32, debug: UnsafeRawBufferPointer) {
    let reason = Answer(body: Array(debug.prefix(Answer.maximumBytes))).reason
    goAwayReason = reason ?? "GOAWAY, error code \(errorCode)"
  }

  func http2SettingsChanged() { gotSettings = true }

  func http2PingAcknowledged() { pingSentAt = nil }
}
