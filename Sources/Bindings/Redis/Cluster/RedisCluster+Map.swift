import EventLoop
import Transport

/// Asking for the map, and what a new one changes.
extension RedisCluster {
  var isConnected: Bool { !map.isEmpty && lastFailure == nil }

  /// What keeps a part of the keys from us.
  var lastFailure: RedisError? {
    guard !map.isEmpty else { return mapFailure }
    for master in map.masters {
      if let failure = nodes[master]?.lastFailure { return failure }
    }
    return unserved.map { RedisError(.notServed, "\(name): nobody serves the slots \($0)") }
  }

  /// Nil before there is a map.
  var state: RedisClusterState? { map.isEmpty ? nil : RedisClusterState(map) }

  func handle(_ event: ClusterRefresh.Event) {
    for action in refresh.handle(event) {
      switch action {
      case .ask: ask()
      case .startTimer(let delay):
        refreshTimer?.cancel()
        refreshTimer = loop.schedule(after: delay) { [weak self] in self?.handle(.timerFired) }
      case .cancelTimer:
        refreshTimer?.cancel()
        refreshTimer = nil
      }
    }
  }

  private func ask() {
    inquiries += 1
    let inquiry = RedisInquiry(ClusterMap.question, of: candidates, options, loop, random)
    self.inquiry = inquiry
    inquiry.start { [weak self] result in
      guard let self, !isClosed else { return }
      self.inquiry = nil
      switch result {
      case .success(let map): take(map)
      case .failure(let failure):
        let line = "\(name): \(failure)"
        if mapFailure?.description != failure.description { log("\(line); asking again") }
        mapFailure = failure
        handle(.failed)
      }
    }
  }

  /// Those that answer first, each time another of them: one that is cut off from the rest has an
  /// old map.
  private var candidates: [Endpoint] {
    let ready = map.masters.filter { nodes[$0]?.isConnected == true }
    let turn = ready.isEmpty ? 0 : inquiries % ready.count
    let others = map.masters.filter { nodes[$0]?.isConnected != true }
    var seen: Set<Endpoint> = []
    return (ready[turn...] + ready[..<turn] + others + options.clusterNodes).filter {
      seen.insert($0).inserted
    }
  }

  private func take(_ new: ClusterMap) {
    let isChanged = new != map
    map = new
    mapFailure = nil
    report(RedisClusterState(new).unserved)
    drop()
    if isChanged {
      for connection in nodes.values where connection.lastFailure != nil {
        connection.giveBackWaiting()
      }
    }
    wakeWaiting()
    handle(.answered(isSettled: lastFailure == nil))
  }

  private func report(_ now: String?) {
    guard now != unserved else { return }
    unserved = now
    log(now.map { "\(name): nobody serves the slots \($0)" } ?? "\(name): all slots are served")
  }

  /// Nodes that have no slots any more. One that still owes answers stays until the next map.
  private func drop() {
    for (node, connection) in nodes where !map.masters.contains(node) {
      if connection.lastFailure != nil { connection.giveBackWaiting() }
      guard connection.load == 0 else { continue }
      nodes[node] = nil
      connection.close()
    }
  }
}
