import Deliver
import EventLoop
import HTTP2
import Telemetry
import Text
import Transport

/// One connection to Apple's service and one request for a device that cannot exist, to see whether
/// our provider token is taken. Confined to its loop.
final class APNsProbe {
  struct Answer: Sendable {
    /// Until TLS was done and HTTP/2 agreed on; nil when it did not come so far.
    var connectMilliseconds: Int?
    var failure: String?
    var code: TransportError.Code?
    /// Nil when nothing was asked.
    var status: Int?
    var body: [UInt8] = []
  }

  private let route: APNsRoute
  private let authorization: String?
  private let loop: EventLoop
  private var answer = Answer()
  private var connection: Connection?
  private var session: HTTP2ClientSession?
  private var continuation: CheckedContinuation<Void, Never>?
  private var startedAt: UInt64 = 0
  private let payload = StableBytes(#"{"aps":{}}"#)

  /// No device has such a token, and none can get it: it is what Apple calls a BadDeviceToken.
  private static let path = "/3/device/" + String(repeating: "0", count: 64)
  private static let maximumBodyBytes = 4_096

  init(_ route: APNsRoute, authorization: String?, loop: EventLoop) {
    self.route = route
    self.authorization = authorization
    self.loop = loop
  }

  func run(timeout: Duration) async -> Answer {
    let timer = loop.schedule(after: timeout) { [weak self] in
      self?.finish("gave no answer within \(DurationText.text(timeout))")
    }
    await withCheckedContinuation { continuation in
      self.continuation = continuation
      startedAt = MonotonicClock.nowNanoseconds()
      let connection = Connection(
        to: route.endpoint, tls: route.tls, options: route.transport(connectTimeout: timeout),
        loop: loop, delegate: self)
      self.connection = connection
      connection.connect()
    }
    timer.cancel()
    connection?.close()
    return answer
  }

  private func finish(_ failure: String? = nil, _ code: TransportError.Code? = nil) {
    guard let continuation else { return }
    self.continuation = nil
    answer.failure = failure
    answer.code = code
    if failure != nil { answer.status = nil }
    continuation.resume()
  }

  private func ask() throws(HTTP2Error) {
    var options = HTTP2ClientOptions()
    options.keptBodyBytes = Self.maximumBodyBytes
    let session = try HTTP2ClientSession(options: options)
    self.session = session
    if let authorization {
      let block = try HTTP2FieldBlock(
        [
          (":method", "POST", .indexed), (":scheme", "https", .indexed),
          (":authority", route.endpoint.host, .indexed), (":path", Self.path, .indexed),
          ("authorization", authorization, .never), ("apns-push-type", "alert", .indexed),
        ], values: .copied)
      _ = try session.submit(block, body: payload.bytes, slot: 0)
    }
    try flush()
  }

  private func flush() throws(HTTP2Error) {
    while let output = try session?.nextOutput() { connection?.write(output) }
  }
}

extension APNsProbe: ConnectionDelegate {
  func connectionOpened(_ connection: Connection) {
    let elapsed = MonotonicClock.nowNanoseconds() - startedAt
    answer.connectMilliseconds = Int(elapsed / 1_000_000)
    do {
      try ask()
    } catch {
      finish(error.description)
    }
    if authorization == nil { finish() }
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    do throws(HTTP2Error) {
      try session?.receive(bytes)
      try flush()
    } catch {
      finish(error.description)
    }
    guard let ended = session?.nextEnded() else { return }
    guard ended.status != 0 else {
      return finish("reset the request (\(HTTP2ErrorCode.name(ended.errorCode)))")
    }
    answer.status = ended.status
    answer.body = ended.content?.body ?? []
    finish()
  }

  func connectionDrained(_ connection: Connection) {}

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    finish(error?.description ?? "closed the connection without an answer", error?.code)
  }
}
