/// Whether who answers on a connection is what it was made for.
extension RedisConnection {
  /// What the server is to be.
  enum Purpose {
    /// A master, for commands.
    case onlyServer
    /// A master too, whose MOVED somebody follows.
    case clusterNode
    /// Any server: it is only asked where the masters are.
    case inquiry
    /// Somebody's replica, for reads that may lag. `obstacle`: why it is of no use, from what it
    /// says of itself.
    case replica(isOfCluster: Bool, obstacle: (ReplicationReport?) -> RedisError?)

    var isOfCluster: Bool {
      switch self {
      case .clusterNode, .replica(isOfCluster: true, _): true
      case .onlyServer, .inquiry, .replica: false
      }
    }
  }

  /// Why a new connection is of no use. ROLE is the last that a handshake asks.
  func obstacle(ofHandshake replies: RedisReplies) -> RedisError? {
    let reply = replies[replies.count - 1]
    let role = RedisRole(reply)
    followed = nil
    switch purpose {
    case .inquiry: return nil
    case .onlyServer, .clusterNode:
      let failure: RedisError? = role.failure
      asksForRole = role == .master
      if role == .untold, !hasToldOfRole {
        hasToldOfRole = true
        log("\(options.name) does not tell us its ROLE: grant it, or a replica is not noticed")
      }
      return failure
    case .replica(_, let obstacle):
      if let failure = obstacle(ReplicationReport(replies[replies.count - 2])) { return failure }
      followed = role
      asksForRole = true
      return self.obstacle(ofRole: reply)
    }
  }

  /// Why what ROLE answers behind commands makes them nobody's. A replica must be connected to the
  /// master that it had: without, it may have been emptied.
  func obstacle(ofRole reply: RedisReply) -> RedisError? {
    let role = RedisRole(reply)
    guard case .replica = purpose else { return role.failure }
    guard case .replica = role, role == followed else {
      return RedisError(.loading, "it copies another master, or none, or does not tell its ROLE")
    }
    guard reply[3].text == "connected" else {
      return RedisError(.loading, "it is not connected to its master")
    }
    return nil
  }
}
