import EventLoop
import Transport

/// The connections to a cluster's masters: one each, made when it is first needed. Confined to its
/// loop.
final class ClusterNodes {
  private let name: String
  private let options: RedisOptions
  private let counts: RedisCounts
  private let loop: EventLoop
  private let log: (String) -> Void
  private let random: () -> Double
  private var connections: [Endpoint: RedisConnection] = [:]
  private var isClosed = false
  /// Called after each loss of a connection, and each that could not be made.
  var whenLost: (() -> Void)?

  /// `counts` are of all nodes together.
  init(
    of name: String, options: RedisOptions, counting counts: RedisCounts, loop: EventLoop,
    log: @escaping (String) -> Void, random: @escaping () -> Double
  ) {
    self.name = name
    self.options = options
    self.counts = counts
    self.loop = loop
    self.log = log
    self.random = random
  }

  /// Ends what is unanswered with `closed`.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    let all = all
    connections = [:]
    for connection in all { connection.close() }
  }

  /// Throws when nothing can be sent there now.
  func connection(to node: Endpoint) throws(RedisError) -> RedisConnection {
    guard !isClosed else { throw RedisError(.closed, "\(name): the client is closed") }
    if let known = connections[node] {
      if let refusal = known.refusal { throw refusal }
      return known
    }
    guard connections.count < ClusterMap.maximumNodes else {
      throw RedisError(.unavailable, "\(name) has over \(ClusterMap.maximumNodes) nodes")
    }
    let connection = RedisConnection(
      options: options.at(node), purpose: .clusterNode, loop: loop, log: log, random: random)
    connection.whenLost = { [weak self] in self?.whenLost?() }
    connection.prepareAsMaster(counting: counts)
    connections[node] = connection
    connection.start()
    return connection
  }

  /// By their names.
  private var all: [RedisConnection] {
    connections.values.sorted { $0.options.name < $1.options.name }
  }

  func isConnected(to node: Endpoint) -> Bool { connections[node]?.isConnected == true }

  /// Nil also for a node that nobody has needed yet.
  func lastFailure(of node: Endpoint) -> RedisError? { connections[node]?.lastFailure }

  var hasNothingSent: Bool { connections.values.allSatisfy(\.hasNothingSent) }

  func distrust(over why: String) {
    for connection in all { connection.distrust(over: why) }
  }

  /// Gives up nodes that have no slots any more. One that still owes answers stays until the next
  /// map.
  func keep(_ masters: [Endpoint]) {
    for connection in all where !masters.contains(connection.options.endpoint) {
      if connection.lastFailure != nil { connection.giveBackWaiting() }
      guard connection.load == 0 else { continue }
      connections[connection.options.endpoint] = nil
      connection.close()
    }
  }

  /// Sends pipelines that wait for unreachable nodes elsewhere, where the map has changed.
  func giveBackWaitingForLost() {
    for connection in all where connection.lastFailure != nil {
      connection.giveBackWaiting()
    }
  }

  /// Nil where a master has not said anything of its replicas.
  var replicas: [(master: String, replicas: [RedisReplica]?)] {
    connections.values.map { ($0.options.name, $0.replicas?.state) }.sorted { $0.0 < $1.0 }
  }
}
