import Glibc
import Processes
import Transport

/// A real Redis Cluster on the loopback address: masters that divide the slots, each with a
/// replica; gone when the object goes.
package final class RedisClusterProcess: Sendable {
  package let masters: [RedisServerProcess]
  /// The n-th follows the n-th master, until that is killed.
  package let replicas: [RedisServerProcess]
  private static let slots = 16_384

  package var nodes: [RedisServerProcess] { masters + replicas }

  /// Returns when every node knows all slots to be served, and every replica has its master's data.
  /// `options` are further arguments of each redis-server.
  package init(
    masters count: Int = 3, hasReplicas: Bool = true, tls: RedisServerProcess.TLSFiles? = nil,
    options: [String] = []
  ) throws {
    let options =
      options + (tls == nil ? [] : ["--tls-cluster", "yes", "--tls-replication", "yes"])
    let nodes = try (0..<(hasReplicas ? count * 2 : count)).map { _ in
      try Self.node(options, tls)
    }
    masters = Array(nodes.prefix(count))
    replicas = Array(nodes.dropFirst(count))
    for (index, master) in masters.enumerated() {
      let range = Self.share(index, of: count)
      try master.cli("CLUSTER", "ADDSLOTSRANGE", "\(range.lowerBound)", "\(range.upperBound)")
    }
    for (index, node) in nodes.enumerated() {
      // Without an epoch of its own each node takes a new one, one after the other.
      try node.cli("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
      if index > 0 { try Self.meet(nodes[0], node) }
    }
    try wait("every node to know the others") {
      try nodes.allSatisfy {
        try Self.lines(of: $0).count { !$0.contains("handshake") } == nodes.count
      }
    }
    for (master, replica) in zip(masters, replicas) {
      try replica.cli("CLUSTER", "REPLICATE", Self.identifier(of: master))
    }
    try wait("every slot to be served and copied") { try nodes.allSatisfy { try isReady($0) } }
  }

  /// Where every node listens.
  package var endpoints: [Endpoint] { nodes.map { Endpoint(host: "127.0.0.1", port: $0.port) } }

  /// `host:port` of every node.
  package var addresses: [String] { endpoints.map { "\($0)" } }

  /// Looks every few milliseconds; fails after a minute.
  package func wait(_ what: String, until condition: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try !condition() {
      guard ContinuousClock.now < deadline else {
        throw LocalRunError(.failed, "waited a minute for \(what)")
      }
      _ = poll(nil, 0, 10)
    }
  }

  // MARK: one node

  /// One that knows nobody yet. Its `cli` follows redirections.
  package static func node(
    _ options: [String], _ tls: RedisServerProcess.TLSFiles?
  ) throws -> RedisServerProcess {
    try RedisServerProcess(
      tls: tls,
      options: [
        "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
        "--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0",
        "--cluster-allow-replica-migration", "no", "--repl-diskless-sync-delay", "0",
      ] + options, isClusterNode: true)
  }

  /// `one` gets to know `other`, and all others do in a while.
  package static func meet(_ one: RedisServerProcess, _ other: RedisServerProcess) throws {
    let bus = try other.cli("CONFIG", "GET", "cluster-port").split(separator: "\n").last ?? ""
    try one.cli("CLUSTER", "MEET", "127.0.0.1", "\(other.port)", String(bus))
  }

  private static func share(_ index: Int, of count: Int) -> ClosedRange<Int> {
    (slots * index / count)...(slots * (index + 1) / count - 1)
  }

  /// What a node says of itself and of those that it knows.
  package static func lines(of node: RedisServerProcess) throws -> [Substring] {
    try node.cli("CLUSTER", "NODES").split(separator: "\n")
  }

  package static func identifier(of node: RedisServerProcess) throws -> String {
    try node.cli("CLUSTER", "MYID")
  }

  private func isReady(_ node: RedisServerProcess) throws -> Bool {
    let state = try node.cli("CLUSTER", "INFO")
    guard state.contains("cluster_state:ok"), state.contains("cluster_slots_ok:\(Self.slots)")
    else { return false }
    let roles = try Self.lines(of: node)
    guard roles.count(where: { $0.contains("slave") }) == replicas.count else { return false }
    guard replicas.contains(where: { $0 === node }) else { return true }
    return try node.cli("INFO", "replication").contains("master_link_status:up")
  }
}
