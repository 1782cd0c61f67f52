/// What goes from a master to one replica: write commands that the replica has not done yet, in
/// groups of what one command or script wrote, which is done whole or not at all.
package final class ReplicaLink {
  package private(set) weak var master: MemoryRedis?
  package let replica: MemoryRedis
  private var queue: [(effects: [[ByteString]], offset: Int64)] = []
  /// What the replica has done, in bytes of the master's writes.
  package private(set) var acknowledged: Int64
  /// Not set: the replica says that its link is down, and gets nothing.
  package var isUp = true
  /// Somebody may have waited for it to be there.
  private var isNew = true

  init(from master: MemoryRedis, to replica: MemoryRedis) {
    self.master = master
    self.replica = replica
    acknowledged = master.offset
  }

  /// Groups that the replica has not done.
  package var lag: Int { queue.count }

  func append(_ effects: [[ByteString]], offset: Int64) { queue.append((effects, offset)) }

  /// The replica does up to so many groups. Whoever waits for it may be answered then.
  /// - Returns: how many it did.
  @discardableResult
  package func deliver(_ count: Int = .max, now: Int64) -> Int {
    guard isUp, master != nil else { return 0 }
    let some = queue.prefix(count)
    queue.removeFirst(some.count)
    for (effects, offset) in some {
      replica.store.apply(effects, now: now)
      replica.offset = offset
      acknowledged = offset
    }
    // Who waits, waits for a group that no replica has done.
    if !some.isEmpty || isNew { for session in master?.sessions ?? [] { session.look() } }
    isNew = false
    return some.count
  }

  /// What was not delivered is lost to the replica.
  func end() {
    master?.links.removeAll { $0 === self }
    if replica.source === self { replica.source = nil }
    queue = []
    master = nil
  }
}

extension MemoryRedis {
  /// Makes a server a replica of this one: it has all that this one has now, and from then on what
  /// `deliver` brings.
  package func replicate(to replica: MemoryRedis) -> ReplicaLink {
    replica.source?.end()
    for link in replica.links { link.end() }
    let link = ReplicaLink(from: self, to: replica)
    links.append(link)
    replica.source = link
    replica.store.image = store.image
    _ = replica.store.takeEffects()
    replica.store.isReplica = true
    replica.copyHistory(of: self)
    return link
  }

  /// The replica becomes a master of its own, without what was not delivered. The old master goes
  /// on as one unless somebody stops it, or makes it a replica of the new one.
  ///
  /// - Parameter seed: names the new sequence of writes.
  package func promote(seed: UInt64) {
    source?.end()
    store.isReplica = false
    beginHistory(seed)
  }
}
