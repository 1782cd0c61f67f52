import Transport

/// The reply to INFO replication: whose writes a server has, how many of them, and who copies them.
package struct ReplicationReport: Equatable {
  struct Replica: Equatable {
    let endpoint: Endpoint
    /// As far as it has told its master.
    let offset: Int64
  }

  enum Role: Equatable {
    case master
    /// `isLinked`: it is connected to its master and has its whole data set.
    case replica(isLinked: Bool)
  }

  let role: Role
  /// Names one sequence of writes. Another master, and each fail-over, begins another one: offsets
  /// of two have nothing to do with each other.
  let history: String
  /// The bytes of it that the server has.
  let offset: Int64
  /// Of a master: those that are online.
  let replicas: [Replica]

  /// Nil: this is no such report, as where INFO is forbidden.
  package init?(_ reply: RedisReply) {
    guard let fields = RedisInformation(reply), let history = fields["master_replid"] else {
      return nil
    }
    self.history = history
    let isMaster = fields["role"] == "master"
    // On a replica this is what it has done, not only received.
    let offset = fields[isMaster ? "master_repl_offset" : "slave_repl_offset"]
    guard let offset = offset.flatMap({ Int64($0) }) else { return nil }
    self.offset = offset
    guard isMaster else {
      role = .replica(
        isLinked: fields["master_link_status"] == "up" && fields["master_sync_in_progress"] == "0")
      replicas = []
      return
    }
    role = .master
    let count = fields["connected_slaves"].flatMap { Int($0) } ?? 0
    replicas = (0..<min(max(count, 0), 1_000)).compactMap {
      fields["slave\($0)"].flatMap { Self.replica($0) }
    }
  }

  /// `ip=10.0.0.7,port=6379,state=online,offset=1234,lag=0`, in any order, with more between.
  private static func replica(_ line: String) -> Replica? {
    var values: [Substring: Substring] = [:]
    for part in line.split(separator: ",") {
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if sides.count == 2 { values[sides[0]] = sides[1] }
    }
    guard values["state"] == "online", let host = values["ip"], !host.isEmpty,
      let port = values["port"].flatMap({ Int($0) }), (1...65_535).contains(port),
      let offset = values["offset"].flatMap({ Int64($0) })
    else { return nil }
    return Replica(endpoint: Endpoint(host: String(host), port: port), offset: offset)
  }
}
