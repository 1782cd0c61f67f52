import EventLoop
import Transport

/// Hands on what comes to one port of 127.0.0.1 to another address, both ways. Confined to its
/// loop.
final class PortForwarder {
  private let target: Endpoint
  private let loop: EventLoop
  private var listener: Listener?
  private var relays: [ObjectIdentifier: Relay] = [:]

  /// Each holds two descriptors; what it forwards is a client's first words.
  private static let maximumRelays = 256

  init(port: Int, to target: Endpoint, loop: EventLoop) throws(TransportError) {
    self.target = target
    self.loop = loop
    listener = try Listener(host: "127.0.0.1", port: port, tls: nil, loop: loop) {
      [weak self] client in self?.accept(client)
    }
  }

  func close() {
    listener?.close()
    for relay in Array(relays.values) { relay.close() }
  }

  private func accept(_ client: Connection) -> (any ConnectionDelegate)? {
    guard relays.count < Self.maximumRelays else { return nil }
    let relay = Relay(client, to: target, loop: loop)
    relays[ObjectIdentifier(relay)] = relay
    relay.whenClosed = { [weak self, weak relay] in
      if let relay { self?.relays[ObjectIdentifier(relay)] = nil }
    }
    return relay
  }
}

/// Two connections, each of which gets what the other receives.
private final class Relay: ConnectionDelegate {
  /// A side that takes nothing does not fill our memory.
  private static let maximumBytes = 64 << 20

  var whenClosed: () -> Void = {}
  private let client: Connection
  private var server: Connection?
  /// What the client said before the server was there.
  private var early: [UInt8] = []

  init(_ client: Connection, to target: Endpoint, loop: EventLoop) {
    self.client = client
    let server = Connection(
      to: target, tls: nil, options: TransportOptions(), loop: loop, delegate: self)
    self.server = server
    server.connect()
  }

  func close() {
    client.close()
    server?.close()
    server = nil
    whenClosed()
  }

  func connectionOpened(_ connection: Connection) {
    guard connection === server, !early.isEmpty else { return }
    early.withUnsafeBytes { connection.write($0) }
    early = []
  }

  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    guard let other = connection === client ? server : client else { return }
    guard early.count + other.pendingBytes + bytes.count <= Self.maximumBytes else {
      return close()
    }
    if other.isOpen { other.write(bytes) } else { early.append(contentsOf: bytes) }
  }

  func connectionDrained(_ connection: Connection) {}

  func connectionClosed(_ connection: Connection, error: TransportError?) { close() }
}
