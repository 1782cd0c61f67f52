import Deliver
import EventLoop
import HTTP2
import JSON
import Text
import Transport

/// One connection to Apple's service and at most one request on it, for whoever asks by hand.
/// Confined to its loop.
package final class SingleRequest {
  private let route: RouteTarget
  private let request: AppleRequest?
  private let authorization: String?
  private let loop: EventLoop
  private var reply = AppleReply()
  private var connection: Connection?
  private var session: HTTP2ClientSession?
  private var continuation: CheckedContinuation<Void, Never>?
  private var startedAt: UInt64 = 0
  private var openedAt: UInt64 = 0
  /// For the connection and the answer together; the connection minds its own part.
  private var timeout = Duration.zero
  private var timer: LoopTimer?
  /// The server's error when it went away.
  private var goodbye: String?
  private let body: UnsafeRawBufferPointer

  /// - Parameters:
  ///   - request: nil: only the connection is made.
  ///   - authorization: the field's value; nil: without a provider token.
  package init(
    _ request: AppleRequest?, on route: RouteTarget, authorization: String?, loop: EventLoop
  ) {
    self.request = request
    self.route = route
    self.authorization = authorization
    self.loop = loop
    // nghttp2 borrows the body until the stream has closed.
    let bytes = request?.sealedBody ?? Array((request?.body ?? "").utf8)
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    memory.copyBytes(from: bytes)
    body = UnsafeRawBufferPointer(memory)
  }

  deinit { body.deallocate() }

  /// The same on a loop of its own.
  package static func ask(
    _ request: AppleRequest?, on route: RouteTarget, authorization: String?, timeout: Duration
  ) async -> AppleReply {
    await EventLoop.temporary("command") { (_: isolated LoopActor, loop: EventLoop) async in
      await SingleRequest(request, on: route, authorization: authorization, loop: loop)
        .run(timeout: timeout)
    }
  }

  /// Once.
  package func run(timeout: Duration) async -> AppleReply {
    self.timeout = timeout
    await withCheckedContinuation { continuation in
      self.continuation = continuation
      startedAt = loop.now
      let connection = Connection(
        to: route.endpoint, tls: route.tls, options: route.transport(connectTimeout: timeout),
        loop: loop, delegate: self)
      self.connection = connection
      connection.connect()
    }
    timer?.cancel()
    connection?.close()
    return reply
  }

  private func finish(_ failure: String? = nil, _ error: TransportError? = nil) {
    guard let continuation else { return }
    self.continuation = nil
    reply.failure = failure.map { goodbye ?? $0 }
    reply.error = error
    if failure != nil { reply.status = nil }
    continuation.resume()
  }

  private func ask() throws(HTTP2Error) {
    var options = HTTP2ClientOptions()
    options.keptBodyBytes = request?.maximumAnswerBytes ?? 0
    options.keptFields = .all
    let session = try HTTP2ClientSession(options: options)
    self.session = session
    if let request {
      var fields: [(name: String, value: String, indexing: HTTP2Indexing)] = [
        (":method", request.method, .indexed), (":scheme", "https", .indexed),
        (":authority", request.authority ?? route.endpoint.authority, .indexed),
        (":path", request.path, .never),
      ]
      if let authorization { fields.append(("authorization", authorization, .never)) }
      fields += request.fields.map { ($0.name, $0.value, .indexed) }
      _ = try session.submit(try HTTP2FieldBlock(fields, values: .copied), body: body, slot: 0)
    }
    try flush()
  }

  private func flush() throws(HTTP2Error) {
    while let output = try session?.nextOutput() { connection?.write(output) }
  }

  private func answered(_ ended: HTTP2Ended) {
    guard ended.status != 0 else {
      return finish("reset the request (\(HTTP2ErrorCode.name(ended.errorCode)))")
    }
    reply.status = ended.status
    reply.answerMilliseconds = Int((loop.now &- openedAt) / 1_000_000)
    reply.fields = (ended.content?.fields ?? []).map {
      .init(String(decoding: $0.name, as: UTF8.self), String(decoding: $0.value, as: UTF8.self))
    }
    reply.body = ended.content?.body ?? []
    reply.isWhole = ended.errorCode == HTTP2ErrorCode.noError
    finish()
  }

  /// "Communicating with APNs": the connection's end may come with a JSON object that has a reason.
  private func heed(_ goAway: HTTP2GoAway) {
    let reason = (try? JSONValue.parse(goAway.debug))?.object?["reason"]?.string
    goodbye = "went away without an answer: \(reason ?? HTTP2ErrorCode.name(goAway.errorCode))"
  }
}

extension SingleRequest: ConnectionDelegate {
  package func connectionOpened(_ connection: Connection) {
    openedAt = loop.now
    reply.connectMilliseconds = Int((openedAt &- startedAt) / 1_000_000)
    // A gateway of the binary interface says nothing, whatever one asks.
    guard route.interface == nil else { return finish() }
    do {
      try ask()
    } catch {
      finish(error.description)
    }
    guard request != nil else { return finish() }
    // Names have a time of their own.
    let connecting = openedAt &- startedAt &- connection.resolvingNanoseconds
    let left = max(.zero, timeout - .nanoseconds(Int64(clamping: connecting)))
    timer = loop.schedule(after: left) { [weak self] in
      guard let self else { return }
      finish("gave no answer within \(DurationText.text(timeout))")
    }
  }

  package func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    do throws(HTTP2Error) {
      try session?.receive(bytes)
      try flush()
    } catch {
      finish(error.description)
    }
    if let goAway = session?.takeGoAway() { heed(goAway) }
    if let ended = session?.nextEnded() { answered(ended) }
  }

  package func connectionDrained(_ connection: Connection) {}

  package func connectionClosed(_ connection: Connection, error: TransportError?) {
    finish(error?.description ?? "closed the connection without an answer", error)
  }
}
