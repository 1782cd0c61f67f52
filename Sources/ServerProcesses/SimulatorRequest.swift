import EventLoop
import HTTP2
import Processes
import TLS
import Text
import Transport

/// One request to a running simulator over a connection of its own, for checks: rare, so nothing
/// is kept open between them. Confined to its loop.
package final class SimulatorRequest {
  private let block: HTTP2FieldBlock
  private let maximumBytes: Int
  private var connection: Connection?
  private var session: HTTP2ClientSession?
  private var status = 0
  /// What is sent with it; HTTP/2 borrows it.
  private let sent: UnsafeMutableRawBufferPointer
  private var body: [UInt8] = []
  private var failure: String?
  private var waiting: CheckedContinuation<Void, Never>?
  private var isDone = false

  private static let timeout: Duration = .seconds(30)

  /// The body of a 200 answer.
  package static func body(
    of path: String, method: String = "GET", sending sent: [UInt8] = [], controlToken: String,
    at endpoint: Endpoint, trust: TLSClientContext, loop: EventLoop, maximumBytes: Int = 32 << 20
  ) async throws(LocalRunError) -> [UInt8] {
    let request: SimulatorRequest
    do {
      request = try SimulatorRequest(
        method, path, sent, controlToken, maximumBytes: maximumBytes)
    } catch {
      throw LocalRunError(.failed, "\(method) \(path): \(error)")
    }
    await request.run(endpoint, trust, loop)
    guard request.failure == nil, request.status == 200 else {
      throw LocalRunError(
        .failed,
        "the simulator's \(path) cannot be read: \(request.failure ?? "status \(request.status)")")
    }
    return request.body
  }

  private init(
    _ method: String, _ path: String, _ sent: [UInt8], _ controlToken: String, maximumBytes: Int
  ) throws {
    self.maximumBytes = maximumBytes
    self.sent = .allocate(byteCount: sent.count, alignment: 1)
    self.sent.copyBytes(from: sent)
    block = try HTTP2FieldBlock([
      (":method", method, .indexed), (":scheme", "https", .indexed),
      (":authority", "localhost", .indexed), (":path", path, .never),
      ("simulator-token", controlToken, .never),
    ])
    var options = HTTP2ClientOptions()
    options.maximumSlots = 1
    options.limits.streamWindowBytes = 4 << 20
    options.limits.connectionWindowBytes = 4 << 20
    options.keptBodyBytes = maximumBytes + 1
    session = try HTTP2ClientSession(options: options)
  }

  deinit { sent.deallocate() }

  private func run(_ endpoint: Endpoint, _ trust: TLSClientContext, _ loop: EventLoop) async {
    let connection = Connection(
      to: endpoint, tls: trust, options: TransportOptions(), loop: loop, delegate: self)
    self.connection = connection
    let timer = loop.schedule(after: Self.timeout) { [weak self] in
      self?.end("no answer within \(DurationText.text(Self.timeout))")
    }
    connection.connect()
    if !isDone { await withCheckedContinuation { waiting = $0 } }
    timer.cancel()
    connection.close()
    session?.abandon()
    self.connection = nil
    session = nil
  }

  private func end(_ failure: String?) {
    guard !isDone else { return }
    isDone = true
    self.failure = failure
    waiting?.resume()
    waiting = nil
  }

  private func judge(_ ended: HTTP2Ended) {
    status = ended.status
    body = ended.content?.body ?? []
    if body.count > maximumBytes {
      end("more than \(maximumBytes) bytes")
    } else {
      end(ended.errorCode == 0 ? nil : "the stream ended with error \(ended.errorCode)")
    }
  }

  private func flush() throws {
    while let bytes = try session?.nextOutput() { connection?.write(bytes) }
  }
}

extension SimulatorRequest: ConnectionDelegate {
  package func connectionOpened(_ connection: Connection) {
    do {
      _ = try session?.submit(block, body: UnsafeRawBufferPointer(sent), slot: 0)
      try flush()
    } catch {
      end("\(error)")
    }
  }

  package func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    guard !isDone else { return }
    do {
      try session?.receive(bytes)
      try flush()
      if let ended = session?.nextEnded() { judge(ended) }
    } catch {
      end("\(error)")
    }
  }

  package func connectionDrained(_ connection: Connection) {}

  package func connectionClosed(_ connection: Connection, error: TransportError?) {
    end(error.map { "\($0)" } ?? "the connection was closed")
  }
}
