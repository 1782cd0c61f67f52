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
      answer(connection, session.receive(bytes, now: owner.microseconds()))
    }

    private func answer(_ connection: Connection, _ bytes: [UInt8]) {
      bytes.withUnsafeBytes { connection.write($0) }
      guard !session.isClosed else { return end(connection) }
      guard let deadline = session.deadline else { return }
      // It waits for replicas: it goes on when they have what it waits for, or in vain.
      session.whenReady = { [weak self] in self?.goOn(connection) }
      let left = deadline - owner.microseconds()
      owner.loop.schedule(after: .microseconds(max(left, 0))) { [weak self] in
        self?.resume(connection)
      }
    }

    private func goOn(_ connection: Connection) {
      session.whenReady = nil
      onLoop(owner.loop) { [self] in resume(connection) }
    }

    private func resume(_ connection: Connection) {
      guard !session.isClosed else { return }
      answer(connection, session.resume(now: owner.microseconds()))
      connection.flush()
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

  /// Who answers; another one after a fail-over.
  package private(set) var server: MemoryRedis
  private var replica: ReplicaLink?
  /// The replica is most of a second behind now and then.
  var isLagging = false
  private var servers = 2
  private let seed: UInt64
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
    self.seed = seed
    loop = network.scheduler.makeLoop("redis")
    server = MemoryRedis(host: endpoint.host, port: endpoint.port, seed: seed)
  }

  /// Gives it a replica, which is a few milliseconds behind.
  func replicate(lags: Bool = false) {
    guard replica == nil else { return }
    isLagging = lags
    replica = server.replicate(to: Self.standby(endpoint, seed &+ 1))
    copy()
  }

  private static func standby(_ endpoint: Endpoint, _ seed: UInt64) -> MemoryRedis {
    MemoryRedis(host: "standby", port: endpoint.port, seed: seed)
  }

  /// Takes connections from the next turn on.
  package func start() { onLoop(loop) { [self] in listen() } }

  private func copy() {
    let isLate = isLagging && network.scheduler.number(below: 60) == 0
    network.scheduler.schedule(after: .milliseconds(isLate ? 800 : 5)) { [self] in
      replica?.deliver(now: microseconds())
      copy()
    }
  }

  /// The server dies, and its replica takes its place without the last writes.
  /// - Parameter lost: how many groups of them, of those that it has not got yet; the rest arrives
  ///   first.
  package func failOver(losing lost: Int) {
    guard let link = replica else { return }
    let old = server
    link.deliver(max(0, link.lag - lost), now: microseconds())
    servers += 1
    server = link.replica
    server.promote(seed: seed &+ UInt64(servers))
    servers += 1
    replica = server.replicate(to: Self.standby(endpoint, seed &+ UInt64(servers)))
    old.closeSessions()
    network.cut(endpoint)
  }

  /// Whether the replica has the member of a set, too; nil where there is none.
  func isCopied(_ member: String, of key: String) -> Bool? {
    guard let store = replica?.replica.store else { return nil }
    let question = ["SISMEMBER", key, member].map { ByteString($0) }
    return store.execute(question, now: microseconds()) == .integer(1)
  }

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

  /// Forgets its data, and its clients.
  func end() {
    server.closeSessions()
    server.losesReply = nil
    for store in [server.store] + (replica.map { [$0.replica.store] } ?? []) {
      store.image = StoreImage()
    }
    replica = nil
    clients = [:]
    listener = nil
  }

  /// Dies: connections break, and nobody takes new ones until `start`.
  package func stop() {
    onLoop(loop) { [self] in
      listener?.close()
      listener = nil
    }
    network.cut(endpoint)
  }
}
