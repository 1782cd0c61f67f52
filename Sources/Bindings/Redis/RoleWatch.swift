/// Whether who answers on a connection is what it was made for: asked after each handshake, and
/// behind each pipeline where that may change.
struct RoleWatch {
  let purpose: ConnectionPurpose
  /// Whether ROLE goes behind each pipeline of this connection.
  private(set) var asksForRole = false
  private var hasToldOfRole = false
  /// Of a replica: the master that it named when it was connected to.
  private var followed: RedisRole?

  init(_ purpose: ConnectionPurpose) { self.purpose = purpose }

  /// Why a new connection is of no use. ROLE is the last that a handshake asks.
  /// - Parameter tell: called once, of a server that does not say its ROLE.
  mutating func obstacle(
    ofHandshake replies: RedisReplies, tell: () -> Void
  ) -> RedisError? {
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
        tell()
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
