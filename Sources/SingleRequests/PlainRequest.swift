import EventLoop
import Text
import Transport

/// One request over HTTP/1.1 without TLS, on a connection of its own: how the metadata server of
/// Google's machines is asked. Confined to its loop.
package final class PlainRequest {
  private let endpoint: Endpoint
  private let request: AppleRequest
  private let loop: EventLoop
  private var answer: PlainAnswer
  private var reply = AppleReply()
  private var continuation: CheckedContinuation<Void, Never>?

  private init(_ request: AppleRequest, to endpoint: Endpoint, loop: EventLoop) {
    self.request = request
    self.endpoint = endpoint
    self.loop = loop
    answer = PlainAnswer(maximumBodyBytes: request.maximumAnswerBytes)
  }

  /// Asks on a loop of its own.
  /// - Parameters:
  ///   - request: its fields and its path hold no line breaks.
  ///   - timeout: for the connection and the answer together.
  package static func ask(
    _ request: AppleRequest, of endpoint: Endpoint, timeout: Duration
  ) async -> AppleReply {
    await EventLoop.temporary("command") { (_: isolated LoopActor, loop: EventLoop) async in
      await PlainRequest(request, to: endpoint, loop: loop).run(timeout: timeout)
    }
  }

  private func run(timeout: Duration) async -> AppleReply {
    var options = TransportOptions(connectTimeout: timeout)
    options.resolveTimeout = timeout
    let connection = Connection(
      to: endpoint, tls: nil, options: options, loop: loop, delegate: self)
    let timer = loop.schedule(after: timeout) { [weak self] in
      self?.finish("gave no answer within \(DurationText.text(timeout))")
    }
    await withCheckedContinuation { continuation in
      self.continuation = continuation
      connection.connect()
    }
    timer.cancel()
    connection.close()
    return reply
  }

  /// As bytes: the port is left out where it is that of HTTP (RFC 9110, section 4.2.1).
  private var head: [UInt8] {
    let host = endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host
    var lines = [
      "\(request.method) \(request.path) HTTP/1.1",
      "Host: \(endpoint.port == 80 ? host : endpoint.description)", "Connection: close",
    ]
    if !request.body.isEmpty { lines.append("Content-Length: \(request.body.utf8.count)") }
    lines += request.fields.map { "\($0.name): \($0.value)" }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + request.body).utf8)
  }

  private func take(_ bytes: UnsafeRawBufferPointer, isEnd: Bool) {
    switch answer.receive(bytes, isEnd: isEnd) {
    case .incomplete: break
    case .broken(let words): finish(words)
    case .complete:
      reply.status = answer.status
      reply.fields = answer.fields
      reply.body = answer.body
      finish()
    }
  }

  private func finish(_ failure: String? = nil, _ error: TransportError? = nil) {
    guard let continuation else { return }
    self.continuation = nil
    reply.failure = failure
    reply.error = error
    continuation.resume()
  }
}

extension PlainRequest: ConnectionDelegate {
  package func connectionOpened(_ connection: Connection) {
    head.withUnsafeBytes { connection.write($0) }
  }

  package func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    take(bytes, isEnd: false)
  }

  package func connectionDrained(_ connection: Connection) {}

  package func connectionClosed(_ connection: Connection, error: TransportError?) {
    if let error { return finish(error.description, error) }
    take(UnsafeRawBufferPointer(start: nil, count: 0), isEnd: true)
    finish("closed the connection without an answer")
  }
}
