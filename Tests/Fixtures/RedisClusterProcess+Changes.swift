import Processes
import ServerProcesses

/// What becomes of a cluster: a node more, a master dead, slots on the move.
extension RedisClusterProcess {
  /// Options of nodes that no busy machine takes for dead: for whoever does not try a fail-over.
  package static let slowFailOver = ["--cluster-node-timeout", "15000"]

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
    try waitForFailOver(index)
  }

  /// Until the replica of a master that is dead, or stands still, has taken over, in the view of
  /// the other masters as well: one that hears of it from the old master first has nobody for these
  /// slots until it hears from the new one.
  package func waitForFailOver(_ index: Int) throws {
    let replica = replicas[index]
    try wait("the replica to be promoted") { try replica.cli("ROLE").hasPrefix("master") }
    // Both of them voted, and thus held the cluster for down.
    try wait("the slots to be served again") {
      try masters.enumerated().allSatisfy { other, master in
        try other == index || master.cli("CLUSTER", "INFO").contains("cluster_state:ok")
      }
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

  private static let maximumRounds = 200

  /// Moves the keys that are left; the slot is the new master's.
  ///
  /// Word of the move before may come late to the new master, which forgets then that it takes the
  /// slot: it is told again until no key is left.
  package func endMove(
    _ slot: Int, from old: RedisServerProcess, to new: RedisServerProcess
  ) throws {
    for round in 0...Self.maximumRounds {
      let keys = try old.cli("CLUSTER", "GETKEYSINSLOT", "\(slot)", "100")
        .split(separator: "\n").map(String.init)
      if keys.isEmpty { break }
      guard round < Self.maximumRounds else {
        throw LocalRunError(.failed, "slot \(slot) does not leave port \(old.port): \(keys)")
      }
      if round > 0 { try beginMove(slot, from: old, to: new) }
      try move(keys: keys, from: old, to: new)
    }
    let identifier = try Self.identifier(of: new)
    for node in [new, old] { try node.cli("CLUSTER", "SETSLOT", "\(slot)", "NODE", identifier) }
    for node in masters where node !== old && node !== new && node.processID != nil {
      try node.cli("CLUSTER", "SETSLOT", "\(slot)", "NODE", identifier)
    }
  }

  private static func range(_ word: Substring) -> ClosedRange<Int>? {
    let ends = word.split(separator: "-").map { Int($0) }
    guard let first = ends.first ?? nil, let last = ends.last ?? nil, first <= last else {
      return nil
    }
    return first...last
  }
}
