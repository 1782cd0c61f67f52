import EventLoop
import Fixtures
import Glibc
import Testing

@testable import Transport

/// The way to a server through an HTTP proxy.
@Suite struct ProxyTests {
  private static let target = Endpoint(host: "api.push.apple.com", port: 443)

  @Test(
    arguments: [
      (nil, nil),
      // RFC 7617, section 2.
      ("Aladdin", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
    ] as [(String?, String?)])
  func itIsAskedForTheServersNameAndPort(username: String?, credentials: String?) {
    let proxy = HTTPProxy(
      endpoint: Endpoint(host: "proxy", port: 3128), username: username, password: "open sesame")
    let lines = String(
      decoding: ProxyTunnel(through: proxy, to: Self.target).request, as: UTF8.self
    )
    .components("\r\n")
    var wanted = ["CONNECT api.push.apple.com:443 HTTP/1.1", "Host: api.push.apple.com:443"]
    if let credentials { wanted.append("Proxy-Authorization: \(credentials)") }
    #expect(lines == wanted + ["", ""])
  }

  @Test(arguments: [
    ("HTTP/1.1 200 Connection established\r\n\r\n", ""),
    ("HTTP/1.0 200 OK\r\nVia: 1.1 proxy\r\nX: y\r\n\r\n", ""),
    ("HTTP/1.1 204\n\n", ""),
    ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", ""),
    ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 407 No\r\n\r\n", "407"),
    ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "answers 101"),
    (String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 700), "more than 16384 bytes"),
    ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407"),
    ("HTTP/1.1 403 Forbidden\r\n\r\n", "403"),
    ("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\nbad", "502"),
    ("HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\n", "answers 302"),
    ("SSH-2.0-OpenSSH_9.2\r\n\r\n", "does not speak HTTP"),
    ("HTTP/2 200 OK\r\n\r\n", "does not speak HTTP"),
    ("HTTP/1.1 20 OK\r\n\r\n", "does not speak HTTP"),
    ("\r\n\r\n", "does not speak HTTP"),
    ("HTTP/1.1 200 OK\r\n\r\nhello", "says more"),
    (
      "HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 3000) + "\r\n",
      "more than 16384 bytes"
    ),
  ])
  func itsAnswerIsReadToTheEndOfItsHead(answer: String, words: String) {
    for step in [1, 7, Int.max] where words != "says more" || step == .max {
      var tunnel = ProxyTunnel(
        through: HTTPProxy(endpoint: Endpoint(host: "proxy", port: 3128)), to: Self.target)
      let bytes = Array(answer.utf8)
      var said = ""
      var isOpen = false
      do {
        var rest = bytes[...]
        while !rest.isEmpty, !isOpen {
          let piece = Array(rest.prefix(step))
          rest = rest.dropFirst(step)
          isOpen = try piece.withUnsafeBytes { try tunnel.receive($0) }
        }
        #expect(rest.isEmpty)
      } catch {
        said = "\(error)"
        #expect((error as? TransportError)?.code == .proxy)
      }
      #expect(isOpen == words.isEmpty)
      #expect(words.isEmpty ? said.isEmpty : said.contains(words))
    }
  }

  @Test func tlsGoesThroughItToTheServerItself() async throws {
    let certificates = try TestCertificates()
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let server = Echo()
      let listener = try server.listen(tls: certificates.server, on: loop)
      let proxy = try FakeProxy(loop)
      defer {
        listener.close()
        proxy.stop()
      }
      let target = Endpoint(host: "127.0.0.1", port: listener.port)
      let client = Client(loop)
      let connection = connect(to: target, through: proxy, certificates.client, client, loop)
      await client.until { client.isOpen || client.isClosed }
      #expect(proxy.asked == ["CONNECT \(target) HTTP/1.1"])
      let message = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      message.withUnsafeBytes { connection.write($0) }
      await client.until { client.bytes.count == message.count || client.isClosed }
      #expect(client.bytes == message)
      connection.close()
    }
  }

  @Test(arguments: [
    (FakeProxy.Manner.says("HTTP/1.1 407 Who are you\r\n\r\n"), TransportError.Code.proxy, "407"),
    (.closes, .proxy, "closed without an answer"), (.silent, .timeout, "gave no way to"),
  ])
  func whatItDoesWrongIsSaidOfIt(
    manner: FakeProxy.Manner, code: TransportError.Code, words: String
  ) async throws {
    let certificates = try TestCertificates()
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let proxy = try FakeProxy(loop)
      defer { proxy.stop() }
      proxy.manner = manner
      let client = Client(loop)
      let connection = connect(
        to: Self.target, through: proxy, certificates.client, client, loop,
        timeout: manner == .silent ? .milliseconds(200) : .seconds(50))
      await client.until { client.isClosed }
      connection.close()
      #expect(client.error?.code == code)
      #expect(client.error?.message.contains(words) == true)
      #expect(client.error?.message.contains(":\(proxy.port)") == true)
    }
  }

  /// The server was not asked yet, and is not to blame.
  @Test func whereItBreaksTheConnectionThatIsSaidOfIt() async throws {
    let certificates = try TestCertificates()
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let proxy = try ResettingProxy()
      let client = Client(loop)
      var options = TransportOptions(connectTimeout: .seconds(50))
      options.proxy = HTTPProxy(endpoint: proxy.endpoint)
      let connection = Connection(
        to: Self.target, tls: certificates.client, options: options, loop: loop, delegate: client)
      connection.connect()
      await client.until { proxy.wasAsked() || client.isClosed }
      proxy.reset()
      await client.until { client.isClosed }
      connection.close()
      #expect(client.error?.code == .proxy)
      #expect(
        client.error?.message
          == "the proxy \(proxy.endpoint) broke the connection: Connection reset by peer")
    }
  }

  private func connect(
    to target: Endpoint, through proxy: FakeProxy, _ tls: ClientSecurity, _ client: Client,
    _ loop: EventLoop, timeout: Duration = .seconds(50)
  ) -> Connection {
    var options = TransportOptions(connectTimeout: timeout)
    options.proxy = HTTPProxy(endpoint: Endpoint(host: "127.0.0.1", port: proxy.port))
    let connection = Connection(
      to: target, tls: tls, options: options, loop: loop, delegate: client)
    connection.connect()
    return connection
  }
}

extension String {
  /// The parts between `separator`, empty ones too.
  fileprivate func components(_ separator: String) -> [String] {
    var parts: [String] = []
    var rest = self[...]
    while let range = rest.firstRange(of: separator) {
      parts.append(String(rest[..<range.lowerBound]))
      rest = rest[range.upperBound...]
    }
    return parts + [String(rest)]
  }
}

/// Closes a connection while what it was asked lies unread, so that the kernel resets it.
private final class ResettingProxy {
  let endpoint: Endpoint
  private let listening: Int32
  private var accepted: Int32 = -1

  init() throws {
    (listening, endpoint) = try listeningSocket(queue: 1)
  }

  deinit {
    reset()
    close(listening)
  }

  /// The first bytes of a question have come, and are left where they are. Waits for nothing.
  func wasAsked() -> Bool {
    if accepted < 0 {
      var pending = pollfd(fd: listening, events: Int16(POLLIN), revents: 0)
      guard poll(&pending, 1, 0) == 1 else { return false }
      accepted = accept(listening, nil, nil)
    }
    var byte: UInt8 = 0
    return recv(accepted, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 1
  }

  func reset() {
    if accepted >= 0 { close(accepted) }
    accepted = -1
  }
}

/// A proxy for one connection at a time. Confined to the loop.
final class FakeProxy: ConnectionDelegate {
  enum Manner: Equatable {
    case leads
    case says(String)
    case closes, silent
  }

  var manner = Manner.leads
  /// The first lines of what it was asked.
  private(set) var asked: [String] = []
  private let loop: EventLoop
  private var listener: Listener?
  private var head: [UInt8] = []
  private var client: Connection?
  private var server: Connection?

  init(_ loop: EventLoop) throws {
    self.loop = loop
    listener = try Listener(host: "127.0.0.1", port: 0, tls: nil, loop: loop) { [unowned self] in
      client = $0
      return self
    }
  }

  var port: Int { listener?.port ?? 0 }

  func stop() {
    listener?.close()
    client?.close()
    server?.close()
  }

  func connectionOpened(_ connection: Connection) {
    guard connection === server else { return }
    Array("HTTP/1.1 200 Go on\r\n\r\n".utf8).withUnsafeBytes { client?.write($0) }
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    if connection === server { return client?.write(bytes) ?? () }
    if let server { return server.write(bytes) }
    head.append(contentsOf: bytes)
    guard head.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return }
    let line = String(decoding: head.prefix { $0 != 0x0D }, as: UTF8.self)
    asked.append(line)
    switch manner {
    case .leads: lead(to: line)
    case .says(let answer): Array(answer.utf8).withUnsafeBytes { connection.write($0) }
    case .closes: connection.close()
    case .silent: break
    }
  }

  private func lead(to line: String) {
    let words = line.split(separator: " ")
    guard words.count == 3, let colon = words[1].lastIndex(of: ":"),
      let port = Int(words[1][words[1].index(after: colon)...])
    else { return }
    let target = Endpoint(host: String(words[1][..<colon]), port: port)
    let server = Connection(
      to: target, tls: nil, options: TransportOptions(), loop: loop, delegate: self)
    self.server = server
    server.connect()
  }

  func connectionDrained(_ connection: Connection) {}

  func connectionClosed(_ connection: Connection, error: TransportError?) {
    (connection === server ? client : server)?.close()
  }
}
