import Glibc
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

  /// One more node that has no slots yet, known to all.
  package func addMaster(options: [String] = []) throws -> RedisServerProcess {
    let node = try Self.node(options, nil)
    try Self.meet(masters[0], node)
    try wait("the new node to know the others") {
      try Self.lines(of: node).count { !$0.contains("handshake") } == nodes.count + 1
    }
    try wait("the new node to serve") {
      try node.cli("CLUSTER", "INFO").contains("cluster_state:ok")
    }
    return node
  }

  /// Where every node listens.
  package var endpoints: [Endpoint] { nodes.map { Endpoint(host: "127.0.0.1", port: $0.port) } }

  /// `host:port` of every node.
  package var addresses: [String] { endpoints.map { "\($0)" } }

  /// Who serves a slot, in the view of the first node that answers.
  package func master(of slot: Int) throws -> RedisServerProcess? {
    for node in nodes where node.processID != nil {
      for line in try Self.lines(of: node) where line.contains("master") && !line.contains("fail") {
        let words = line.split(separator: " ")
        guard words.dropFirst(8).contains(where: { Self.range($0)?.contains(slot) == true }) else {
          continue
        }
        return nodes.first { words[1].contains(":\($0.port)@") }
      }
    }
    return nil
  }

  /// `kill -9` of a master, and the wait for its replica to take over.
  package func failOver(_ index: Int) throws {
    masters[index].kill()
    let replica = replicas[index]
    try wait("the replica to be promoted") { try replica.cli("ROLE").hasPrefix("master") }
    try wait("the slots to be served again") {
      try masters.enumerated().allSatisfy { other, master in
        try other == index || master.cli("CLUSTER", "INFO").contains("cluster_state:ok")
      }
    }
  }

  /// Looks every few milliseconds; fails after a minute.
  package func wait(_ what: String, until condition: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try !condition() {
      guard ContinuousClock.now < deadline else {
        throw LocalStackError(.failed, "waited a minute for \(what)")
      }
      _ = poll(nil, 0, 10)
    }
  }

  // MARK: slots on the move

  /// The slot's keys go to another master, one after the other: those that are there are answered
  /// with ASK at the old one.
  package func beginMove(
    _ slot: Int, from old: RedisServerProcess, to new: RedisServerProcess
  ) throws {
    try new.cli("CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", Self.identifier(of: old))
    try old.cli("CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", Self.identifier(of: new))
  }

  package func move(
    keys: [String], from old: RedisServerProcess, to new: RedisServerProcess
  ) throws {
    try old.cli(["MIGRATE", "127.0.0.1", "\(new.port)", "", "0", "60000", "KEYS"] + keys)
  }

  /// Moves the keys that are left; the slot is the new master's.
  package func endMove(
    _ slot: Int, from old: RedisServerProcess, to new: RedisServerProcess
  ) throws {
    while true {
      let keys = try old.cli("CLUSTER", "GETKEYSINSLOT", "\(slot)", "100")
        .split(separator: "\n").map(String.init)
      if keys.isEmpty { break }
      try move(keys: keys, from: old, to: new)
    }
    let identifier = try Self.identifier(of: new)
    for node in [new, old] { try node.cli("CLUSTER", "SETSLOT", "\(slot)", "NODE", identifier) }
    for node in masters where node !== old && node !== new && node.processID != nil {
      try node.cli("CLUSTER", "SETSLOT", "\(slot)", "NODE", identifier)
    }
  }

  // MARK: one node

  /// Options of nodes that no busy machine takes for dead: for whoever does not try a fail-over.
  package static let slowFailOver = ["--cluster-node-timeout", "15000"]

  /// Its redis-cli follows redirections.
  private static func node(
    _ options: [String], _ tls: RedisServerProcess.TLSFiles?
  ) throws -> RedisServerProcess {
    var attempt = 0
    while true {
      // The bus has a port of its own: 10,000 above the other may be taken, or no port at all.
      let bus = try LocalPort.findFree()
      do {
        return try RedisServerProcess(
          tls: tls,
          options: [
            "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port",
            "\(bus)", "--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0",
            "--cluster-allow-replica-migration", "no", "--repl-diskless-sync-delay", "0",
          ] + options, cliOptions: ["-c"])
      } catch {
        attempt += 1
        guard attempt < 3 else { throw error }
      }
    }
  }

  private static func meet(_ one: RedisServerProcess, _ other: RedisServerProcess) throws {
    let bus = try other.cli("CONFIG", "GET", "cluster-port").split(separator: "\n").last ?? ""
    try one.cli("CLUSTER", "MEET", "127.0.0.1", "\(other.port)", String(bus))
  }

  private static func share(_ index: Int, of count: Int) -> ClosedRange<Int> {
    (slots * index / count)...(slots * (index + 1) / count - 1)
  }

  private static func lines(of node: RedisServerProcess) throws -> [Substring] {
    try node.cli("CLUSTER", "NODES").split(separator: "\n")
  }

  private static func identifier(of node: RedisServerProcess) throws -> String {
    try node.cli("CLUSTER", "MYID")
  }

  private static func range(_ word: Substring) -> ClosedRange<Int>? {
    let ends = word.split(separator: "-").map { Int($0) }
    guard let first = ends.first ?? nil, let last = ends.last ?? nil, first <= last else {
      return nil
    }
    return first...last
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
