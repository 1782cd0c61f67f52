import EventLoop
import Fixtures
import Glibc
import TLS
import Testing

@testable import Transport

/// Which of a host's addresses a connection goes to.
@Suite struct AddressTests {
  private static func addresses(_ texts: String...) throws -> [SocketAddress] {
    try texts.flatMap { try Resolver.numeric(Endpoint(host: $0, port: 443)).get() }
  }

  @Test func theTwoKindsTakeTurnsFromTheOneThatTheSystemPutsFirst() throws {
    let found = try Self.addresses("::1", "::2", "::3", "10.0.0.1", "10.0.0.2")
    let order = try Self.addresses("::1", "10.0.0.1", "::2", "10.0.0.2", "::3")
    #expect(AddressBook.interleaved(found) == order)
    let other = try Self.addresses("10.0.0.1", "::1", "10.0.0.2", "::2", "::3")
    #expect(AddressBook.interleaved(Array(found[3...] + found[..<3])) == other)
    #expect(AddressBook.interleaved([]) == [])
  }

  @Test func eachConnectionBeginsWithTheNextAddress() throws {
    let found = try Self.addresses("10.0.0.1", "10.0.0.2", "10.0.0.3")
    let book = AddressBook(firstTurn: 2)
    let firsts = (0..<6).map { _ in book.order(found, at: 1)[0] }
    #expect(firsts == (0..<6).map { found[($0 + 2) % 3] })
    #expect(Set(book.order(found, at: 1)) == Set(found))
  }

  @Test func whatFailedLatelyComesLastForAMinute() throws {
    let found = try Self.addresses("10.0.0.1", "10.0.0.2", "10.0.0.3")
    let book = AddressBook()
    book.failed(found[1], at: 5)
    for _ in 0..<6 { #expect(book.order(found, at: 5 + AddressBook.memory - 1)[2] == found[1]) }
    #expect(leads(book, found, to: found[1], at: 5 + AddressBook.memory))
    book.failed(found[0], at: 9)
    book.answered(found[0])
    #expect(leads(book, found, to: found[0], at: 10))
    // Nothing is kept of what the name no longer leads to.
    book.failed(found[0], at: 20)
    _ = book.order([found[1]], at: 21)
    #expect(leads(book, found, to: found[0], at: 22))
  }

  /// Whether one of the next three connections begins with an address.
  private func leads(
    _ book: AddressBook, _ found: [SocketAddress], to address: SocketAddress, at now: UInt64
  ) -> Bool {
    let firsts = (0..<3).map { _ in book.order(found, at: now)[0] }
    return firsts.contains(address)
  }

  /// As behind a firewall that drops what comes: no word, not even a refusal.
  @Test func aSilentAddressDoesNotKeepAConnectionFromTheOthers() async throws {
    let hole = try BlackHole()
    defer { hole.close() }
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let servers = try Servers(["127.0.0.2"], loop)
      defer { servers.close() }
      let book = AddressBook()
      let order = [hole.address, servers.addresses[0]]
      // A minute of connecting, and a minute of waiting here: only the race itself can win.
      let client = try await servers.connect(order, book)
      #expect(client.isOpen)
      #expect(servers.counts == [1])
      // The next connection does not ask the silent one first, although it is its turn.
      #expect(book.order(order, at: loop.now)[0] == servers.addresses[0])
      #expect(book.order(order, at: loop.now)[0] == servers.addresses[0])
    }
  }

  @Test func anAddressThatRefusesIsFollowedByTheNext() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let refusing = try Servers(["127.0.0.2"], loop)
      refusing.close()
      let servers = try Servers(["127.0.0.3"], loop)
      defer { servers.close() }
      let client = try await servers.connect(refusing.addresses + servers.addresses, AddressBook())
      #expect(client.isOpen)
    }
  }

  @Test func aHostThatRefusesOnAllItsAddressesIsUnreachable() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let servers = try Servers(["127.0.0.2", "127.0.0.3"], loop)
      servers.close()
      let client = try await servers.connect(servers.addresses, AddressBook())
      #expect(client.error?.code == .unreachable)
      let words = client.error?.message ?? ""
      #expect(words.contains("Connection refused"))
    }
  }

  /// It takes connections and shakes no hands: the next connection goes elsewhere first.
  @Test func anAddressWithoutTLSIsNotAskedFirstAgain() async throws {
    let tls = try TestCertificates(hosts: ["127.0.0.2", "127.0.0.3", "apns.test"])
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let mute = try Servers(["127.0.0.2"], loop)
      let well = try Servers(["127.0.0.3"], loop, tls: tls.server)
      defer {
        mute.close()
        well.close()
      }
      let book = AddressBook()
      let order = mute.addresses + well.addresses
      let first = try await mute.connect(
        order, book, tls: tls.client, timeout: .milliseconds(500))
      #expect(!first.isOpen)
      for _ in 0..<4 {
        let next = try await well.connect(order, book, tls: tls.client)
        #expect(next.isOpen)
      }
      #expect(mute.counts == [1] && well.counts == [4])
    }
  }

  @Test func connectionsSpreadOverAllAddresses() async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await LoopActor(loop).run { _ in
      let servers = try Servers(["127.0.0.2", "127.0.0.3", "127.0.0.4"], loop)
      defer { servers.close() }
      let book = AddressBook(firstTurn: 1)
      for _ in 0..<6 { _ = try await servers.connect(servers.addresses, book) }
      #expect(servers.counts == [2, 2, 2])
    }
  }

  /// Whoever gives up while several are tried leaves none of them open.
  @Test func whoClosesWhileAddressesAreTriedLeavesNothingBehind() async throws {
    let holes = try [BlackHole(), BlackHole()]
    defer { for hole in holes { hole.close() } }
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    await LoopActor(loop).run { _ in
      let client = Client(loop)
      var options = TransportOptions()
      let addresses = holes.map(\.address)
      options.names = NameResolver { _ in .success(addresses) }
      let connection = Connection(
        to: Endpoint(host: "apns.test", port: 1), tls: nil, options: options,
        addresses: AddressBook(), loop: loop, delegate: client)
      connection.connect()
      await client.until { connection.dialer?.pending == 2 }
      let before = openDescriptors()
      connection.close()
      #expect(openDescriptors() == before - 2)
      #expect(!client.isClosed)
    }
  }
}

private func openDescriptors() -> Int {
  guard let directory = opendir("/proc/self/fd") else { return -1 }
  defer { closedir(directory) }
  var count = 0
  while readdir(directory) != nil { count += 1 }
  return count
}

/// Servers at addresses of one host. Confined to the loop.
private final class Servers {
  private(set) var addresses: [SocketAddress] = []
  private var echoes: [Echo] = []
  private var listeners: [Listener] = []
  private let loop: EventLoop

  init(_ hosts: [String], _ loop: EventLoop, tls: TLSServerContext? = nil) throws {
    self.loop = loop
    for host in hosts {
      let echo = Echo()
      let listener = try echo.listen(host: host, tls: tls, on: loop)
      echoes.append(echo)
      listeners.append(listener)
      addresses += try Resolver.numeric(Endpoint(host: host, port: listener.port)).get()
    }
  }

  /// Connections that each has taken.
  var counts: [Int] { echoes.map(\.connections.count) }

  /// Connects to the host that these are the addresses of, and waits for the end of it.
  func connect(
    _ order: [SocketAddress], _ book: AddressBook, tls: ClientSecurity? = nil,
    timeout: Duration = .seconds(50)
  ) async throws -> Client {
    let client = Client(loop)
    var options = TransportOptions(connectTimeout: timeout)
    options.names = NameResolver { _ in .success(order) }
    let connection = Connection(
      to: Endpoint(host: "apns.test", port: 443), tls: tls, options: options, addresses: book,
      loop: loop, delegate: client)
    connection.connect()
    await client.until { client.isOpen || client.isClosed }
    // What the servers' sides know of it comes a turn later.
    await client.until { client.isClosed || !self.counts.allSatisfy { $0 == 0 } }
    connection.close()
    return client
  }

  func close() { for listener in listeners { listener.close() } }
}

/// A socket of the loopback address that listens on a free port, and which no loop looks after.
/// - Parameter queue: connections that may wait to be accepted.
func listeningSocket(queue: Int32) throws -> (descriptor: Int32, endpoint: Endpoint) {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  let any = try Resolver.numeric(Endpoint(host: "127.0.0.1", port: 0)).get()[0]
  _ = any.withSocketAddress { bind(descriptor, $0, $1) }
  listen(descriptor, queue)
  var bound = sockaddr_in()
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  withUnsafeMutablePointer(to: &bound) {
    _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      getsockname(descriptor, $0, &length)
    }
  }
  let port = Int(UInt16(bigEndian: bound.sin_port))
  return (descriptor, Endpoint(host: "127.0.0.1", port: port))
}

/// An address at which a connection is neither taken nor refused: its queue of connections that
/// nobody accepts is full, so that the kernel drops what comes.
private struct BlackHole: Sendable {
  let address: SocketAddress
  private let descriptors: [Int32]

  init() throws {
    let (listening, endpoint) = try listeningSocket(queue: 0)
    address = try Resolver.numeric(endpoint).get()[0]
    // The first is queued, the others find no room.
    let filling = (0..<4).compactMap { [address] _ in address.connect(TransportOptions()) }
    descriptors = [listening] + filling
  }

  func close() { for descriptor in descriptors { Glibc.close(descriptor) } }
}
