import EventLoop
import Kafka
import Processes
import Transport

/// librdkafka's mock cluster for as long as somebody wants it.
package enum BrokerService {
  /// - Parameters:
  ///   - port: of 127.0.0.1; 0: any free one.
  ///   - ready: called with the address where clients find it.
  ///   - ended: returns when it is to end.
  package static func run(
    _ topics: [BrokerTopic], port: Int, ready: @Sendable (String) -> Void,
    until ended: @Sendable () async -> Void
  ) async throws(LocalRunError) {
    let broker: EmbeddedBroker
    do {
      broker = try EmbeddedBroker(topics: topics.map { (name: $0.name, partitions: $0.partitions) })
    } catch {
      throw LocalRunError(.failed, "\(error)")
    }
    if port == 0 {
      ready(broker.bootstrapServers)
      await ended()
    } else {
      try await forward(port, to: broker.bootstrapServers, ready, until: ended)
    }
    withExtendedLifetime(broker) {}
  }

  /// librdkafka's mock cluster takes no port: whatever comes to the given one goes to the one it
  /// has.
  private static func forward(
    _ port: Int, to servers: String, _ ready: @Sendable (String) -> Void,
    until ended: @Sendable () async -> Void
  ) async throws(LocalRunError) {
    let own = servers.split(separator: ":").last.flatMap { Int($0) } ?? 0
    try await EventLoop.temporary("broker") {
      (_: isolated LoopActor, loop: EventLoop) async throws(LocalRunError) in
      let forwarder: BrokerForwarder
      do {
        forwarder = try BrokerForwarder(
          port: port, to: Endpoint(host: "127.0.0.1", port: own), loop: loop)
      } catch {
        throw LocalRunError(.failed, "\(error)")
      }
      defer { forwarder.close() }
      ready("127.0.0.1:\(port)")
      await ended()
    }
  }
}

/// Whether a forwarder hands on what comes to it. Confined to its loop.
final class BrokerGate {
  /// The kind of a produce request in Kafka's protocol.
  private static let produce = 0

  /// Produce requests that pass before it stands still; nil: all.
  private var left: Int?
  private(set) var isFrozen = false

  func freeze(afterProduceRequests number: Int) { left = number }

  func thaw() {
    left = nil
    isFrozen = false
  }

  /// A request of this kind comes.
  func see(requestOfKind kind: Int) {
    guard !isFrozen, kind == Self.produce, let left else { return }
    self.left = left - 1
    isFrozen = left <= 0
  }
}

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

  /// Kept requests go on; those of clients that have left since are lost.
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
