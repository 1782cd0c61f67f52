/// What the server says of itself: those lines of INFO, ROLE and CONFIG that somebody reads.
extension MemoryRedis {
  func information(_ sections: ArraySlice<ByteString>) -> ByteString {
    let wanted = Set(sections.map(\.lowercased))
    let isAll = !wanted.isDisjoint(with: ["all", "everything", "default"]) || wanted.isEmpty
    var text = ""
    for (name, lines) in [
      ("Server", serverLines), ("Memory", memoryLines), ("Persistence", persistenceLines),
      ("Replication", replicationLines), ("Cluster", ["cluster_enabled:0"]),
    ] where isAll || wanted.contains(ByteString(name).lowercased) {
      if !text.isEmpty { text += "\r\n" }
      text += (["# \(name)"] + lines).map { $0 + "\r\n" }.joined()
    }
    return ByteString(text)
  }

  private var serverLines: [String] {
    [
      "redis_version:7.0.15", "redis_mode:standalone", "run_id:\(runIdentifier)",
      "tcp_port:\(port)", "server_time_usec:\(store.now)",
    ]
  }

  /// Nobody counts its bytes: it says that a full one has used all of a megabyte.
  private var memoryLines: [String] {
    [
      "used_memory:1048576", "maxmemory:\(isOutOfMemory ? 1_048_576 : 0)",
      "maxmemory_human:\(isOutOfMemory ? "1.00M" : "0B")", "maxmemory_policy:noeviction",
    ]
  }

  private var persistenceLines: [String] {
    [
      "loading:\(isLoading ? 1 : 0)", "rdb_bgsave_in_progress:0", "rdb_last_bgsave_status:ok",
      "aof_enabled:1", "aof_last_write_status:ok",
    ]
  }

  private var replicationLines: [String] {
    var lines = ["role:\(isReplica ? "slave" : "master")"]
    if isReplica {
      let isUp = source?.isUp == true
      lines += [
        "master_host:\(source?.master?.host ?? host)", "master_port:\(source?.master?.port ?? 0)",
        "master_link_status:\(isUp ? "up" : "down")", "master_sync_in_progress:0",
        "slave_read_repl_offset:\(offset)", "slave_repl_offset:\(offset)", "slave_read_only:1",
      ]
    }
    let up = links.filter(\.isUp)
    lines.append("connected_slaves:\(up.count)")
    for (index, link) in up.enumerated() {
      lines.append(
        "slave\(index):ip=\(link.replica.host),port=\(link.replica.port),state=online,"
          + "offset=\(link.acknowledged),lag=0")
    }
    return lines + [
      "master_failover_state:no-failover", "master_replid:\(replicationIdentifier)",
      "master_repl_offset:\(offset)",
    ]
  }

  var roleReply: StoreReply {
    guard isReplica else {
      let replicas = links.filter(\.isUp).map { link in
        StoreReply.strings([
          ByteString(link.replica.host), ByteString(Int64(link.replica.port)),
          ByteString(link.acknowledged),
        ])
      }
      return .array([.bulk("master"), .integer(offset), .array(replicas)])
    }
    let isUp = source?.isUp == true
    return .array([
      .bulk("slave"), .bulk(ByteString(source?.master?.host ?? host)),
      .integer(Int64(source?.master?.port ?? 0)), .bulk(isUp ? "connected" : "connect"),
      .integer(isUp ? offset : -1),
    ])
  }

  func configuration(_ patterns: ArraySlice<ByteString>) -> StoreReply {
    let values: [(ByteString, ByteString)] = [
      ("appendonly", "yes"), ("databases", "1"), ("maxclients", ByteString("\(maximumClients)")),
      ("maxmemory", isOutOfMemory ? "1048576" : "0"), ("maxmemory-policy", "noeviction"),
      ("save", ""),
    ]
    let globs = patterns.map { GlobPattern($0.lowercased) }
    return .strings(
      values.filter { value in globs.contains { $0.matches(value.0) } }
        .flatMap { [$0.0, $0.1] })
  }
}
