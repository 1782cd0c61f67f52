import EventLoop
import Transport

/// A second port for a Kafka broker of this machine: hands on what comes to it, both ways, and has
/// clients told that the broker is there. Confined to its loop.
package final class BrokerForwarder {
  private let broker: Endpoint
  private let port: Int
  private let loop: EventLoop
  private var listener: Listener?
  private var relays: [ObjectIdentifier: Relay] = [:]

  /// Two descriptors each, and a client has two or three connections.
  private static let maximumRelays = 256

  package init(port: Int, to broker: Endpoint, loop: EventLoop) throws(TransportError) {
    self.broker = broker
    self.port = port
    self.loop = loop
    listener = try Listener(host: "127.0.0.1", port: port, tls: nil, loop: loop) {
      [weak self] client in self?.accept(client)
    }
  }

  package func close() {
    listener?.close()
    for relay in Array(relays.values) { relay.close() }
  }

  private func accept(_ client: Connection) -> (any ConnectionDelegate)? {
    guard relays.count < Self.maximumRelays else { return nil }
    let relay = Relay(client, to: broker, shownAs: port, loop: loop)
    relays[ObjectIdentifier(relay)] = relay
    relay.whenClosed = { [weak self, weak relay] in
      if let relay { self?.relays[ObjectIdentifier(relay)] = nil }
    }
    return relay
  }
}

/// Two connections, each of which gets what the other receives.
private final class Relay: ConnectionDelegate {
  /// A side that takes nothing does not fill our memory. An answer of Kafka's has 50 MiB at most.
  private static let maximumBytes = 64 << 20

  package var whenClosed: () -> Void = {}
  private let client: Connection
  private var server: Connection?
  private var addresses: BrokerAddresses
  /// One side has closed; the other still gets what was said.
  private var isEnding = false

  package init(_ client: Connection, to broker: Endpoint, shownAs port: Int, loop: EventLoop) {
    self.client = client
    addresses = BrokerAddresses(host: broker.host, port: broker.port, shownAs: port)
    let server = Connection(
      to: broker, tls: nil, options: TransportOptions(), loop: loop, delegate: self)
    self.server = server
    server.connect()
  }

  package func close() {
    client.close()
    server?.close()
    server = nil
    whenClosed()
  }

  package func connectionOpened(_ connection: Connection) {}

  package func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    let isClient = connection === client
    guard let other = isClient ? server : client else { return }
    guard other.pendingBytes + bytes.count <= Self.maximumBytes else { return close() }
    if isClient {
      addresses.hear(bytes)
      other.write(bytes)
    } else {
      addresses.answer(bytes) { other.write($0) }
    }
  }

  package func connectionDrained(_ connection: Connection) {
    if isEnding { close() }
  }

  package func connectionClosed(_ connection: Connection, error: TransportError?) {
    let other = connection === client ? server : client
    guard !isEnding, error == nil, let other, other.isOpen, other.pendingBytes > 0 else {
      return close()
    }
    isEnding = true
  }
}
