import CMicrohttpd
import EventLoop

/// Which connection is closed when somebody else comes and there is no room. Pure.
enum Leaving {
  /// The one that has been quiet for longest, of the client that has the most: one client that
  /// takes all it can get takes it from itself. nil when none may go.
  static func first<Key>(of connections: [Key: HTTPConnection]) -> Key? {
    let candidates = connections.filter { $0.value.mayGo }
    var counts: [PeerAddress: Int] = [:]
    for candidate in candidates.values { counts[candidate.peer, default: 0] += 1 }
    let most = counts.values.max()
    return candidates.filter { counts[$0.value.peer] == most }
      .min { $0.value.quietSince < $1.value.quietSince }?.key
  }
}
