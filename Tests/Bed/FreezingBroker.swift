import EventLoop
import Processes
import ServerProcesses
import Transport

/// A worker's way to a broker that a test makes stand still, as a process that is stopped does:
/// connections stay, and no answer comes. Whoever goes to the broker itself feels nothing of it.
package actor FreezingBroker {
  package nonisolated let bootstrapServers: String
  private nonisolated let loop: EventLoop
  private let forwarder: BrokerForwarder

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  /// Runs `body` with one in front of the broker at `servers`.
  package static func run(
    before servers: String, _ body: @Sendable (FreezingBroker) async throws -> Void
  ) async throws {
    let loop = EventLoop(name: "freezing-broker")
    defer { loop.stop() }
    let broker = try await LoopActor(loop).run { _ in try FreezingBroker(servers, loop) }
    do {
      try await body(broker)
    } catch {
      await broker.close()
      throw error
    }
    await broker.close()
  }

  private init(_ servers: String, _ loop: EventLoop) throws {
    let broker = Endpoint(
      host: "127.0.0.1", port: servers.split(separator: ":").last.flatMap { Int($0) } ?? 0)
    let port = try LocalPort.findFree()
    self.loop = loop
    bootstrapServers = "127.0.0.1:\(port)"
    forwarder = try BrokerForwarder(port: port, to: broker, loop: loop)
  }

  package func freeze(afterProduceRequests number: Int) {
    forwarder.freeze(afterProduceRequests: number)
  }

  package var isFrozen: Bool { forwarder.isFrozen }

  package func thaw() { forwarder.thaw() }

  private func close() { forwarder.close() }
}
