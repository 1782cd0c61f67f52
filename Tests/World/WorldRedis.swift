import EventLoop
import MemoryRedis
import Transport

/// A Redis in memory behind an endpoint of a world's network.
package final class WorldRedis {
  /// One client.
  private final class Client: ConnectionDelegate {
    private let session: MemoryRedisSession
    private unowned let owner: WorldRedis

    init(_ session: MemoryRedisSession, _ owner: WorldRedis) {
      self.session = session
      self.owner = owner
    }

    func connectionOpened(_ connection: Connection) {}
    func connectionDrained(_ connection: Connection) {}

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
      let answer = session.receive(bytes, now: owner.microseconds())
      answer.withUnsafeBytes { connection.write($0) }
      if session.isClosed { end(connection) }
    }

    /// Behind what was answered before.
    private func end(_ connection: Connection) {
      connection.flush()
      connection.close()
      owner.forget(self)
    }

    func connectionClosed(_ connection: Connection, error: TransportError?) {
      session.close()
      owner.forget(self)
    }
  }

  package let server: MemoryRedis
  package let endpoint: Endpoint
  package let loop: EventLoop
  /// By its own clock.
  let microseconds: () -> Int64
  private let network: MemoryNetwork
  private var listener: Listener?
  private var clients: [ObjectIdentifier: Client] = [:]

  /// - Parameter microseconds: since 1970.
  package init(
    at endpoint: Endpoint, network: MemoryNetwork, seed: UInt64,
    microseconds: @escaping () -> Int64
  ) {
    self.endpoint = endpoint
    self.network = network
    self.microseconds = microseconds
    loop = network.scheduler.makeLoop("redis")
    server = MemoryRedis(host: endpoint.host, port: endpoint.port, seed: seed)
  }

  /// Takes connections from the next turn on.
  package func start() { onLoop(loop) { [self] in listen() } }

  private func listen() {
    var options = TransportOptions()
    options.network = network
    listener = try? Listener(
      host: endpoint.host, port: endpoint.port, tls: nil, options: options, loop: loop
    ) { [self] connection in
      let client = Client(server.open(), self)
      clients[ObjectIdentifier(client)] = client
      return client
    }
  }

  private func forget(_ client: Client) { clients[ObjectIdentifier(client)] = nil }

  /// Dies: connections break, and nobody takes new ones until `start`.
  package func stop() {
    onLoop(loop) { [self] in
      listener?.close()
      listener = nil
    }
    network.cut(endpoint)
  }
}
