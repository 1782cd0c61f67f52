import HTTP2
import HTTPServer
import SimulatorSupport
import Transport

/// One client's connection: joins transport, HTTP/2 or HTTP/1.1, and the requests that are open.
/// Confined to the loop; the service keeps it until it has closed.
final class SimulatedConnection: SimulatorConnection {
  private enum Speech {
    /// The handshake is not over.
    case none
    case http2(HTTP2ServerSession)
    case http1
  }

  /// Bytes for the socket beyond which no more frames are made, until it has drained.
  private static let outputLimit = 256 * 1024
  /// Bytes behind a request that waits for its answer.
  private static let unreadLimit = 64 * 1024

  /// Strong, and a ring with the service's table of connections, which `close` and
  /// `connectionClosed` break.
  private let service: SimulatorService
  private let transport: Connection
  private var speech = Speech.none
  private var http1 = HTTP1Exchange()
  /// By slot; HTTP/1.1 has one.
  private var requests: [OpenRequest] = []
  private var openStreams = 0
  private var announcedStreams = 0
  private var mustClose = false
  private var closesWhenDrained = false
  /// Microseconds since 1970, read once for all that came in one piece.
  private var arrival: Int64 = 0
  /// Monotonic nanoseconds of the last bytes.
  private(set) var heardAt: UInt64
  private var messages = ConnectionMessages()

  init(_ service: SimulatorService, _ transport: Connection) {
    self.service = service
    self.transport = transport
    heardAt = service.loop.now
  }

  private var session: HTTP2ServerSession? {
    if case .http2(let session) = speech { session } else { nil }
  }

  func close() {
    session?.abandon()
    transport.close()
    service.connections.remove(self)
  }

  /// Says goodbye as a server does that wants its memory back; a client that does not take even
  /// that is closed the next time.
  func closeBecauseIdle() {
    // The transport gives the handshake its time.
    if case .none = speech { return }
    guard !closesWhenDrained, let session else { return close() }
    session.goAway(lastStreamID: messages.lastStream, errorCode: HTTP2ErrorCode.noError)
    flush()
    closesWhenDrained = true
    if transport.pendingBytes == 0 { close() }
  }

  func scriptChanged() {
    if service.streamLimit != announcedStreams {
      announcedStreams = service.streamLimit
      session?.setMaximumConcurrentStreams(service.streamLimit)
    }
    // No GOAWAY comes any more for which they were held.
    if service.script.connections.goAwayAfter == nil { processHeld(below: .max) }
    flush()
  }

  /// Puts on the wire what there is to say.
  func flush() {
    guard !mustClose else { return close() }
    switch speech {
    case .none: return
    case .http1:
      readRequests()
      if mustClose { close() }
    case .http2(let session):
      do {
        while transport.pendingBytes < Self.outputLimit, let bytes = try session.nextOutput() {
          transport.write(bytes)
        }
      } catch {
        service.log("closed a connection: \(error)")
        return close()
      }
      if !session.wantsIO { closeWhenDrained() }
    }
  }

  private func closeWhenDrained() {
    if transport.pendingBytes == 0 { close() } else { closesWhenDrained = true }
  }

  // MARK: answers

  /// Gives a request its answer, unless its stream is over.
  func perform(_ answer: WebPushAnswer, slot: Int, stream: Int32) {
    guard isOpen(slot, stream) else { return }
    if let response = service.response(answer, to: requests[slot]) {
      return respond(response, slot: slot)
    }
    switch (answer, session) {
    case (.silence, _): return
    case (.reset(let code), let session?): session.reset(slot: slot, errorCode: code)
    case (.goAway, let session?):
      session.reset(slot: slot, errorCode: HTTP2ErrorCode.refusedStream)
      goAway()
    // HTTP/1.1 has no other way to leave a request.
    default: mustClose = true
    }
  }

  private func isOpen(_ slot: Int, _ stream: Int32) -> Bool {
    switch speech {
    case .none: false
    case .http1: http1.isAnswerDue && http1.number == stream
    case .http2(let session): session.stream(of: slot) == stream
    }
  }

  private func respond(_ response: ServiceAnswer, slot: Int) {
    guard let session else {
      http1.respond(response).withUnsafeBytes { transport.write($0) }
      if http1.isLast { closesWhenDrained = true }
      return
    }
    guard let head = service.heads.head(of: response) else {
      return session.reset(slot: slot, errorCode: HTTP2ErrorCode.internalError)
    }
    _ = Array(response.body.utf8).withUnsafeBytes { session.respond(slot: slot, head, body: $0) }
  }

  private func ended(_ slot: Int) {
    let request = requests[slot]
    guard !request.isControl else {
      messages.processed(request.stream)
      return respond(ControlRequests.answer(request, service), slot: slot)
    }
    let stream = request.stream
    switch messages.arrived(slot: slot, stream: stream, service.script.connections) {
    case .process: process(slot, stream)
    case .processAndGoAway:
      http1.isLast = true
      process(slot, stream)
      goAway()
    // With HTTP/1.1 there is nothing behind a request that is held.
    case .hold: mustClose = mustClose || session == nil
    case .goAway: if session == nil { mustClose = true } else { goAway() }
    case .drop: mustClose = true
    case .ignore: break
    }
  }

  private func process(_ slot: Int, _ stream: Int32) {
    let isSilent = messages.isSilent(service.script.connections)
    let answer = service.decide(requests[slot], isSilent: isSilent, arrival: arrival)
    if answer != .goAway { messages.processed(stream) }
    service.connections.answer(
      self, answer, slot: slot, stream: stream, after: service.delay(of: answer))
  }

  private func goAway() {
    let last = messages.goesAway()
    processHeld(below: last)
    session?.goAway(lastStreamID: last, errorCode: HTTP2ErrorCode.noError)
  }

  /// Those that the client still waits for.
  private func processHeld(below last: Int32) {
    for (slot, stream) in messages.release(below: last) where isOpen(slot, stream) {
      process(slot, stream)
    }
  }
}

/// Input from the client.
extension SimulatedConnection {
  private func hear(_ session: HTTP2ServerSession) {
    while let heard = session.nextHeard() {
      switch heard {
      case .began(let slot, let stream):
        while requests.count <= slot { requests.append(OpenRequest()) }
        requests[slot].begin(stream: stream)
        openStreams += 1
        service.counters.mostOpenStreams = max(service.counters.mostOpenStreams, openStreams)
      case .field(let slot, let name, let value): requests[slot].take(name, value)
      case .body(let slot, let bytes): requests[slot].append(bytes)
      case .ended(let slot): ended(slot)
      case .closed: openStreams -= 1
      }
    }
  }

  private func readRequests() {
    while !mustClose, !closesWhenDrained, let event = http1.next() {
      switch event {
      case .began(let head): begin(head)
      case .body(let bytes): requests[0].append(bytes)
      case .ended: ended(0)
      case .refused(let refusal):
        respond(ServiceAnswer.text(refusal.status, refusal.reason + "\n"), slot: 0)
      }
    }
    // A client that goes on sending waits, so that it cannot fill our memory.
    if http1.unreadBytes > Self.unreadLimit {
      transport.pauseReading()
    } else {
      transport.resumeReading()
    }
  }

  private func begin(_ head: HTTPHead) {
    if requests.isEmpty { requests.append(OpenRequest()) }
    requests[0].begin(stream: http1.number)
    requests[0].take(.method, head.method.utf8)
    requests[0].take(.path, head.target.utf8)
    requests[0].take(.authority, (head.headers["host"] ?? "").utf8)
    for (name, value) in head.headers.sorted(by: { $0.key < $1.key }) {
      requests[0].take(Array(name.utf8), value.utf8)
    }
  }
}

extension SimulatedConnection: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {
    let isHTTP2 = !service.options.usesTLS || connection.applicationProtocol == "h2"
    guard isHTTP2 else {
      speech = .http1
      service.counters.http1Connections += 1
      return
    }
    var options = HTTP2ServerOptions()
    announcedStreams = service.streamLimit
    options.maximumConcurrentStreams = announcedStreams
    do {
      speech = .http2(try HTTP2ServerSession(options: options))
    } catch {
      service.log("closed a connection: \(error)")
      return close()
    }
    flush()
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    arrival = service.options.clock()
    heardAt = service.loop.now
    switch speech {
    case .none: return
    case .http1: http1.append(bytes)
    case .http2(let session):
      do {
        try session.receive(bytes)
      } catch {
        service.log("closed a connection: \(error)")
        return close()
      }
      hear(session)
    }
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
