import EventLoop
import Fixtures
import Testing
import Threads

@testable import Transport

/// Addresses that must not be connected to.
@Suite struct RefusedAddressTests {
  private static let loopback: @Sendable ([UInt8]) -> Bool = { $0.count == 4 && $0[0] == 127 }

  /// What comes of connecting to `host`, which leads to `addresses`.
  /// - Parameter port: of the server.
  private func connect(
    to host: String, at addresses: [String] = [], port: Int, _ loop: EventLoop,
    refuses: @escaping @Sendable ([UInt8]) -> Bool
  ) async throws -> Client {
    let client = Client(loop)
    var options = TransportOptions()
    let found = try addresses.flatMap {
      try Resolver.numeric(Endpoint(host: $0, port: port)).get()
    }
    options.names = NameResolver { _ in .success(found) }
    options.refusesAddress = refuses
    let connection = Connection(
      to: Endpoint(host: host, port: port), tls: nil, options: options, loop: loop,
      delegate: client)
    connection.connect()
    await client.until { client.isOpen || client.isClosed }
    connection.close()
    return client
  }

  @Test(arguments: [("push.test", ["127.0.0.1", "127.0.0.2"]), ("127.0.0.1", [])])
  func aHostWithNoOtherAddressesIsNotConnectedTo(host: String, addresses: [String]) async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let server = Echo()
      let listener = try server.listen(on: loop)
      defer { listener.close() }
      let client = try await connect(
        to: host, at: addresses, port: listener.port, loop, refuses: Self.loopback)
      #expect(!client.isOpen && client.error?.code == .refusedAddress)
      #expect(client.error?.message.contains("\(host):\(listener.port) was not asked") == true)
      // A connection that is taken is heard of after one that was made before.
      let other = try await connect(to: "127.0.0.1", port: listener.port, loop) { _ in false }
      await other.until { server.connections.count > 0 }
      #expect(other.isOpen && server.connections.count == 1)
    }
  }

  @Test func theOtherAddressesAreConnectedTo() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let server = Echo()
      let listener = try server.listen(host: "127.0.0.3", on: loop)
      defer { listener.close() }
      let asked = ThreadLock<[[UInt8]]>([])
      let client = try await connect(
        to: "push.test", at: ["127.0.0.1", "::1", "127.0.0.3"], port: listener.port, loop
      ) { address in
        asked.withLock { $0.append(address) }
        return address != [127, 0, 0, 3]
      }
      #expect(client.isOpen)
      let last = [UInt8](repeating: 0, count: 15) + [1]
      #expect(asked.withLock { $0 } == [[127, 0, 0, 1], last, [127, 0, 0, 3]])
    }
  }

}

/// A proxy on the way to servers whose addresses are asked about.
@Suite struct CheckedTunnelTests {
  /// What comes of connecting to `push.test` at these addresses, through a proxy, and what the
  /// proxy was asked for.
  /// - Parameter refuses: nil: the proxy looks the name up.
  private func connect(
    at addresses: [String], port: Int, _ loop: EventLoop, book: AddressBook = AddressBook(),
    _ manner: FakeProxy.Manner = .leads, refuses: (@Sendable ([UInt8]) -> Bool)?
  ) async throws -> (client: Client, asked: [String]) {
    let proxy = try FakeProxy(loop)
    defer { proxy.stop() }
    proxy.manner = manner
    let client = Client(loop)
    var options = TransportOptions()
    options.proxy = HTTPProxy(endpoint: Endpoint(host: "127.0.0.1", port: proxy.port))
    let found = try addresses.flatMap {
      try Resolver.numeric(Endpoint(host: $0, port: port)).get()
    }
    options.names = NameResolver { _ in .success(found) }
    options.refusesAddress = refuses
    let connection = Connection(
      to: Endpoint(host: "push.test", port: port), tls: nil, options: options, addresses: book,
      loop: loop, delegate: client)
    connection.connect()
    await client.until { client.isOpen || client.isClosed }
    connection.close()
    return (client, proxy.asked)
  }

  /// Its own address is the operator's choice.
  @Test func aProxyIsAskedForAnAddressThatIsNotRefused() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let server = Echo()
      let listener = try server.listen(host: "127.0.0.3", on: loop)
      defer { listener.close() }
      let (client, asked) = try await connect(
        at: ["127.0.0.1", "127.0.0.3"], port: listener.port, loop
      ) { $0 != [127, 0, 0, 3] }
      #expect(client.isOpen && asked == ["CONNECT 127.0.0.3:\(listener.port) HTTP/1.1"])
    }
  }

  @Test func aProxyIsNotAskedForAHostWithNoOtherAddresses() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let (client, asked) = try await connect(at: ["10.0.0.1", "10.0.0.2"], port: 443, loop) {
        $0[0] == 10
      }
      #expect(client.error?.code == .refusedAddress && asked.isEmpty)
    }
  }

  @Test func aProxyIsAskedForTheNameWhereNothingIsRefused() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let (client, asked) = try await connect(
        at: ["10.0.0.1"], port: 443, loop, .says("HTTP/1.1 502 No\r\n\r\n"), refuses: nil)
      #expect(client.error?.code == .proxy && asked == ["CONNECT push.test:443 HTTP/1.1"])
    }
  }

  /// The third connection passes over the third address, whose turn it is.
  @Test func anAddressThatTheProxyDoesNotReachIsAskedForLast() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let book = AddressBook()
      var all: [String] = []
      for _ in 0..<3 {
        let (_, asked) = try await connect(
          at: ["10.0.0.1", "10.0.0.2", "10.0.0.3"], port: 443, loop, book: book,
          .says("HTTP/1.1 502 No\r\n\r\n")
        ) { _ in false }
        all += asked
      }
      #expect(
        all == [1, 3, 2].map { "CONNECT 10.0.0.\($0):443 HTTP/1.1" }, "\(all)")
    }
  }
}

/// What is agreed on in a TLS handshake (ALPN).
@Suite struct ApplicationProtocolTests {
  /// - Returns: what was agreed on; nil: no connection.
  private func agreed(
    offering protocols: [String]?, serverSpeaks: [String]
  ) async throws -> String?? {
    let certificates = try TestCertificates(serverProtocols: serverSpeaks)
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    return try await LoopActor(loop).run { _ -> String?? in
      let server = Echo()
      let listener = try server.listen(tls: certificates.server, on: loop)
      defer { listener.close() }
      let client = Client(loop)
      var options = TransportOptions()
      options.applicationProtocols = protocols
      let connection = Connection(
        to: Endpoint(host: "127.0.0.1", port: listener.port), tls: certificates.client,
        options: options, loop: loop, delegate: client)
      connection.connect()
      await client.until { client.isOpen || client.isClosed }
      defer { connection.close() }
      guard client.isOpen else { return nil }
      #expect(connection.isEncrypted)
      return .some(connection.applicationProtocol)
    }
  }

  /// The context offers h2 alone.
  @Test(
    arguments: [
      (nil, ["h2"], .some("h2")), (nil, [], nil), (nil, ["http/1.1"], nil),
      (["h2", "http/1.1"], ["h2"], .some("h2")),
      (["h2", "http/1.1"], ["http/1.1", "h2"], .some("http/1.1")),
      (["h2", "http/1.1"], ["http/1.1"], .some("http/1.1")),
      (["h2", "http/1.1"], [], .some(nil)), (["http/1.1"], [], .some(nil)),
      (["http/1.1"], ["h2"], nil),
    ] as [([String]?, [String], String??)])
  func theServerChooses(
    offered: [String]?, spoken: [String], expected: String??
  ) async throws {
    #expect(try await agreed(offering: offered, serverSpeaks: spoken) == expected)
  }
}
