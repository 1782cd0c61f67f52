import EventLoop
import Fixtures
import Model
import TLS
import Testing
import Transport

@testable import Deliver

/// A push service that speaks HTTP/1.1 alone, and does what a test tells it. Confined to the loop.
final class FakeHTTP1Server {
  enum Reply {
    /// These bytes, in one piece.
    case say(String)
    /// These bytes, each when the one before has left.
    case sayByByte(String)
    /// These bytes, and then the end.
    case sayAndClose(String)
    case silence
  }

  struct Request {
    let connection: Int
    let head: String
    let body: String

    /// Of one field.
    subscript(name: String) -> String? {
      head.split(separator: "\r\n").first { $0.hasPrefix(name + ": ") }
        .map { String($0.dropFirst(name.utf8.count + 2)) }
    }

    var token: String { self["to"] ?? "" }
  }

  static let created = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"

  var decide: (Request) -> Reply = { _ in .say(FakeHTTP1Server.created) }
  private(set) var requests: [Request] = []
  private(set) var connections: [HTTP1ServerConnection] = []
  /// What no server of HTTP/1.1 would read on, and requests that did not wait for their turn.
  fileprivate(set) var faults: [String] = []
  private var listener: Listener?
  private(set) var port = 0
  let certificates: TestCertificates

  init() throws { certificates = try TestCertificates() }

  func start(on loop: EventLoop, speaking protocols: [String]) throws {
    let tls = try certificates.server(speaking: protocols)
    listener = try Listener(host: "127.0.0.1", port: port, tls: tls, loop: loop) {
      [unowned self] transport in
      let connection = HTTP1ServerConnection(self, transport, number: connections.count)
      connections.append(connection)
      return connection
    }
    port = listener?.port ?? 0
  }

  /// Closes all connections, and agrees to these protocols from now on.
  func restart(on loop: EventLoop, speaking protocols: [String]) throws {
    stop()
    try start(on: loop, speaking: protocols)
  }

  var open: [HTTP1ServerConnection] { connections.filter { !$0.isClosed } }

  func stop() {
    listener?.close()
    listener = nil
    for connection in connections { connection.close() }
  }

  fileprivate func hear(_ request: Request) -> Reply {
    requests.append(request)
    return decide(request)
  }
}

final class HTTP1ServerConnection: ConnectionDelegate {
  private unowned let server: FakeHTTP1Server
  private let transport: Connection
  private let number: Int
  private var bytes: [UInt8] = []
  private var unsaid: ArraySlice<UInt8> = []
  private(set) var isClosed = false
  private(set) var isAnswering = false

  init(_ server: FakeHTTP1Server, _ transport: Connection, number: Int) {
    self.server = server
    self.transport = transport
    self.number = number
  }

  func close() {
    transport.close()
    isClosed = true
  }

  /// Answers what was met with silence, or says what nobody asked for.
  func perform(_ reply: FakeHTTP1Server.Reply) {
    guard !isClosed else { return }
    isAnswering = false
    switch reply {
    case .say(let text): write(text.utf8)
    case .sayByByte(let text):
      unsaid = Array(text.utf8)[...]
      sayNext()
    case .sayAndClose(let text):
      write(text.utf8)
      transport.flush()
      close()
    case .silence: isAnswering = true
    }
  }

  private func write(_ text: some Collection<UInt8>) {
    Array(text).withUnsafeBytes { transport.write($0) }
  }

  private func sayNext() { if let byte = unsaid.popFirst() { write([byte]) } }

  func connectionOpened(_ connection: Connection) {}
  func connectionDrained(_ connection: Connection) { sayNext() }
  func connectionClosed(_ connection: Connection, error: TransportError?) { isClosed = true }

  func connection(_ connection: Connection, received more: UnsafeRawBufferPointer) {
    bytes += more
    let text = String(decoding: bytes, as: UTF8.self)
    guard let end = text.firstRange(of: "\r\n\r\n") else { return }
    let head = String(text[..<end.lowerBound])
    let rest = text[end.upperBound...]
    let length = FakeHTTP1Server.Request(connection: 0, head: head, body: "")["content-length"]
    guard let length = length.flatMap({ Int($0) }), head.hasPrefix("POST /") else {
      return server.faults.append("no request: \(head)")
    }
    guard rest.utf8.count >= length else { return }
    if rest.utf8.count > length || isAnswering { server.faults.append("two at a time: \(text)") }
    bytes = []
    isAnswering = true
    perform(
      server.hear(.init(connection: number, head: head, body: String(rest))))
  }
}

extension DeliverBed {
  /// Pushes of the toy platform go to a server that may speak HTTP/1.1.
  /// - Parameter protocols: that it agrees to (ALPN); none: it does not know ALPN.
  static func http1(
    _ loop: EventLoop, protocols: [String] = ["http/1.1"],
    configure: (inout DeliverOptions) -> Void = { $0.connectionsPerRoute = 1 }
  ) throws -> (DeliverBed, FakeHTTP1Server, ToyAccount) {
    let server = try FakeHTTP1Server()
    try server.start(on: loop, speaking: protocols)
    let bed = try DeliverBed(loop) {
      var target = RouteTarget(
        endpoint: Endpoint(host: "127.0.0.1", port: server.port), tls: server.certificates.client)
      target.mayUseHTTP1 = true
      $0.routes[ToyAccount.toy] = target
      configure(&$0)
    }
    let account = ToyAccount()
    bed.use(AppCredentials(account))
    return (bed, server, account)
  }

  /// Sends to these devices of the toy platform.
  func send(_ tokens: [String]) async {
    await stage.admit(batch(tokens.map { (ToyAccount.toy, $0) }, tally))
  }

  func stop(with server: FakeHTTP1Server) {
    stop()
    server.stop()
    #expect(server.faults == [])
  }
}
