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
      broker = try EmbeddedBroker(
        topics: topics.map { (name: $0.name, partitions: $0.partitions) })
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
