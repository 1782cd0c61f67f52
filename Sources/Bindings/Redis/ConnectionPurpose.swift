/// The kind of server that a connection needs.
enum ConnectionPurpose {
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
