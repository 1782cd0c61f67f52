import EventLoop
import Transport

/// A second port for a Kafka broker of this machine: hands on what comes to it, both ways, and has
/// clients told that the broker is there. Confined to its loop.
package final class BrokerForwarder {
  private let broker: Endpoint
  private let port: Int
  private let loop: EventLoop
  private var listener: Listener?
  private var relays: [ObjectIdentifier: BrokerRelay] = [:]
  private let gate = BrokerGate()

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

  /// Lets this many more produce requests pass and then stands still, as a broker whose process is
  /// stopped: connections stay open and are accepted, and nothing comes of what is sent. For tests.
  package func freeze(afterProduceRequests number: Int) {
    gate.freeze(afterProduceRequests: number)
  }

  package var isFrozen: Bool { gate.isFrozen }

  /// What was kept goes on; what clients have said that are gone since is lost.
  package func thaw() {
    gate.thaw()
    for relay in Array(relays.values) { relay.goOn() }
  }

  package func close() {
    listener?.close()
    for relay in Array(relays.values) { relay.close() }
  }

  private func accept(_ client: Connection) -> (any ConnectionDelegate)? {
    guard relays.count < Self.maximumRelays else { return nil }
    let relay = BrokerRelay(client, to: broker, shownAs: port, gate: gate, loop: loop)
    relays[ObjectIdentifier(relay)] = relay
    relay.whenClosed = { [weak self, weak relay] in
      if let relay { self?.relays[ObjectIdentifier(relay)] = nil }
    }
    return relay
  }
}
