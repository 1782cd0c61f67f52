/// Which connection is closed when somebody else comes and there is no room. Pure.
enum Leaving {
  struct Candidate {
    let peer: PeerAddress
    /// Counts up over all connections: when it came, or when its last exchange ended.
    let quietSince: Int
  }

  /// The one that has been quiet for longest, of the client that has the most: one client that
  /// takes all it can get takes it from itself. nil when there is none.
  static func first<Key>(of candidates: [Key: Candidate]) -> Key? {
    var counts: [PeerAddress: Int] = [:]
    for candidate in candidates.values { counts[candidate.peer, default: 0] += 1 }
    let most = counts.values.max()
    return candidates.filter { counts[$0.value.peer] == most }
      .min { $0.value.quietSince < $1.value.quietSince }?.key
  }
}
