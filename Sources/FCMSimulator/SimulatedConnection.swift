import HTTP2
import SimulatorSupport
import Text
import Transport

/// One client's connection: joins transport, HTTP/2 session and the requests that are open.
/// Confined to the loop; the service keeps it until it has closed.
final class SimulatedConnection: SimulatorConnection {
  /// Bytes for the socket beyond which no more frames are made, until it has drained.
  private static let outputLimit = 256 * 1024
  private static let excessText = Array("exceeded_max_concurrent_streams".utf8)

  /// Strong, and a ring with the service's table of connections, which `close` and
  /// `connectionClosed` break.
  private let service: SimulatorService
  private let transport: Connection
  private var session: HTTP2ServerSession?
  /// By slot.
  private var requests: [OpenRequest] = []
  private var controls: [Int: ControlRequest] = [:]
  private var limit: StreamLimit
  /// The access token that the last request came with: it is long, and most bring the same.
  private var lastAuthorization: [UInt8] = []
  private var lastBearer: Int?
  private var mustClose = false
  private var closesWhenDrained = false
  /// Microseconds since 1970, read once for all that came in one piece.
  private var arrival: Int64 = 0
  /// Monotonic nanoseconds of the last bytes.
  private(set) var heardAt: UInt64
  private var messages = ConnectionMessages()

  init(_ service: SimulatorService, _ transport: Connection) throws(HTTP2Error) {
    self.service = service
    self.transport = transport
    heardAt = service.loop.now
    limit = StreamLimit(announced: service.streamLimit)
    var options = HTTP2ServerOptions()
    options.maximumConcurrentStreams = StreamLimit.library
    session = try HTTP2ServerSession(options: options)
  }

  func close() {
    session?.abandon()
    transport.close()
    service.connections.remove(self)
  }

  /// Says goodbye as a server does that wants its memory back; a client that does not take even
  /// that is closed the next time.
  func closeBecauseIdle() {
    guard !closesWhenDrained else { return close() }
    session?.goAway(lastStreamID: messages.lastStream, errorCode: HTTP2ErrorCode.noError)
    flush()
    closesWhenDrained = true
    if transport.pendingBytes == 0 { close() }
  }

  func scriptChanged() {
    if service.streamLimit != limit.announced {
      session?.setMaximumConcurrentStreams(service.streamLimit)
      limit.announce(service.streamLimit)
    }
    // No GOAWAY comes any more for which they were held.
    if service.script.goAwayAfter == nil { answerHeld(below: .max) }
    flush()
  }

  /// Puts on the wire what the session has to say.
  func flush() {
    guard !mustClose else { return close() }
    guard let session else { return }
    do {
      while transport.pendingBytes < Self.outputLimit, let bytes = try session.nextOutput() {
        if let settings = limit.firstOutput(bytes) {
          settings.withUnsafeBytes { transport.write($0) }
        } else {
          transport.write(bytes)
        }
      }
    } catch {
      service.log("closed a connection: \(error)")
      return close()
    }
    if !session.wantsIO {
      if transport.pendingBytes == 0 { close() } else { closesWhenDrained = true }
    }
  }

  /// Gives a request its answer, unless its stream is over.
  func perform(_ answer: FCMAnswer, slot: Int, stream: Int32) {
    guard let session, session.stream(of: slot) == stream else { return }
    switch answer {
    case .accept:
      service.heads.accept(session, slot: slot, body: service.acceptance(requests[slot]))
    case .refuse(let refusal): refuse(slot, refusal)
    case .expireBearer: refuse(slot, .expiredBearer)
    case .reset(let code): session.reset(slot: slot, errorCode: code)
    case .silence: return
    case .drop: mustClose = true
    }
  }

  private func refuse(_ slot: Int, _ refusal: FCMRefusal) {
    guard let session else { return }
    service.heads.refuse(
      session, slot: slot, refusal, nowSeconds: service.options.clock() / 1_000_000)
  }

  private func ended(_ slot: Int) {
    let request = requests[slot]
    guard !request.isRefused else { return }
    if let control = controls[slot], let session {
      return control.answer(
        service, session, slot: slot, isGet: request.isGet, isPost: request.isPost)
    }
    if request.path == .token && request.isPost { return exchange(slot) }
    let stream = request.stream
    switch messages.arrived(slot: slot, stream: stream, service.script.faults) {
    case .process: process(slot, stream)
    case .processAndGoAway:
      process(slot, stream)
      goAway(HTTP2ErrorCode.noError, [])
    case .goAway: goAway(HTTP2ErrorCode.noError, [])
    case .drop: mustClose = true
    case .hold, .ignore: break
    }
  }

  private func exchange(_ slot: Int) {
    messages.processed(requests[slot].stream)
    guard let session, let answer = service.exchange(requests[slot]) else { return }
    service.heads.answer(session, slot: slot, answer)
  }

  private func process(_ slot: Int, _ stream: Int32) {
    messages.processed(stream)
    let isSilent = messages.isSilent(service.script.faults)
    let answer = service.decide(requests[slot], isSilent: isSilent, arrival: arrival)
    service.connections.answer(
      self, answer, slot: slot, stream: stream, after: service.nextDelay())
  }

  private func goAway(_ code: UInt32, _ debug: [UInt8]) {
    let last = messages.goesAway()
    answerHeld(below: last)
    debug.withUnsafeBytes {
      session?.goAway(lastStreamID: last, errorCode: code, debug: $0)
    }
  }

  /// Those that the client still waits for.
  private func answerHeld(below last: Int32) {
    for (slot, stream) in messages.release(below: last)
    where session?.stream(of: slot) == stream {
      process(slot, stream)
    }
  }
}

/// Input from the client.
extension SimulatedConnection {
  private func hear(_ session: HTTP2ServerSession) {
    while let heard = session.nextHeard() {
      switch heard {
      case .began(let slot, let stream): began(slot, stream)
      case .field(let slot, let name, let value): take(slot, name, value)
      case .body(let slot, let bytes):
        if let control = controls[slot] {
          control.append(bytes)
        } else {
          requests[slot].append(bytes)
        }
      case .ended(let slot): ended(slot)
      case .closed(let slot, _):
        if !controls.isEmpty { controls.removeValue(forKey: slot)?.forget() }
        if !requests[slot].isRefused { limit.closed() }
      }
    }
  }

  private func began(_ slot: Int, _ stream: Int32) {
    while requests.count <= slot { requests.append(OpenRequest()) }
    requests[slot].begin(stream: stream)
    switch limit.opened() {
    case .fits:
      service.counters.mostOpenStreams = max(
        service.counters.mostOpenStreams, limit.open)
    case .refuse:
      requests[slot].isRefused = true
      session?.reset(slot: slot, errorCode: HTTP2ErrorCode.refusedStream)
    case .end:
      requests[slot].isRefused = true
      guard messages.goAwayStream == nil else { return }
      service.counters.streamExcesses += 1
      goAway(HTTP2ErrorCode.protocolError, Self.excessText)
    }
  }

  private func take(
    _ slot: Int, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) {
    let request = requests[slot]
    if request.path == .control { controls[slot]?.take(name, value) }
    switch name.count {
    case 5 where name.elementsEqual(":path".utf8):
      request.path = path(value)
      guard request.path == .control, !request.isRefused else { return }
      controls[slot] = ControlRequest(
        path: String(decoding: value, as: UTF8.self), service.access)
    case 7 where name.elementsEqual(":method".utf8):
      request.isPost = value.elementsEqual("POST".utf8)
      request.isGet = value.elementsEqual("GET".utf8)
    case 12 where name.elementsEqual("content-type".utf8):
      request.isForm = value.starts(with: "application/x-www-form-urlencoded".utf8)
    case 13 where name.elementsEqual("authorization".utf8):
      request.hasAuthorization = true
      request.bearer = bearer(value)
    default: break
    }
  }

  private func path(_ value: UnsafeRawBufferPointer) -> OpenRequest.Path {
    let path = value.prefix { $0 != UInt8(ascii: "?") }
    if service.sendPaths.contains(where: path.elementsEqual) { return .send }
    if path.elementsEqual("/token".utf8) { return .token }
    if ControlRequest.isPath(value) { return .control }
    let parts = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 5, parts[1].elementsEqual("v1".utf8),
      parts[2].elementsEqual("projects".utf8), parts[4].elementsEqual("messages:send".utf8)
    else { return .unknown }
    return .otherProject
  }

  private func bearer(_ value: UnsafeRawBufferPointer) -> Int? {
    if let lastBearer, value.elementsEqual(lastAuthorization) { return lastBearer }
    guard let found = service.tokens.find(value) else { return nil }
    lastAuthorization = Array(value)
    lastBearer = found
    return found
  }
}

extension SimulatedConnection: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) { flush() }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    arrival = service.options.clock()
    heardAt = service.loop.now
    let isAcknowledged = limit.sees(bytes)
    do {
      try session?.receive(bytes)
    } catch {
      service.log("closed a connection: \(error)")
      return close()
    }
    if let session { hear(session) }
    if isAcknowledged { limit.isAcknowledged = true }
    flush()
  }

  func connectionDrained(_ connection: Connection) {
    if closesWhenDrained { close() } else { flush() }
  }

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    if let error { service.log("a connection broke: \(error)") }
    session?.abandon()
    service.connections.remove(self)
  }
}
