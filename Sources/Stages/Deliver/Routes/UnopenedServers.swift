/// Which servers may be tried that no connection has been open to yet: a pure machine. Clients name
/// servers, and may invent any number of names: each costs a route, look-ups and connections that
/// come to nothing. A few are tried at a time, and one that is evicted for another rests. Servers
/// that were open once are remembered and wait for none of these. Times are monotonic nanoseconds.
package struct UnopenedServers {
  /// Routes of a lane to such servers at most, of `LaneRoutes.mostServers`. They look their names
  /// up at the same time, and all lanes together 64 at most (`NameResolver.ofClients`): an attempt
  /// beyond these fails, and is made again.
  package static let most = 32
  /// So long is a server left alone that was evicted.
  static let rest = Evidence.memory
  /// Servers of each kind that are remembered, at some 100 bytes each.
  static let mostRemembered = 1024

  /// The origins of servers.
  private var opened = Remembered()
  private var resting = Remembered()

  private struct Remembered {
    /// When each was inserted last.
    var times: [[UInt8]: UInt64] = [:]
    /// By these times.
    var order: [[UInt8]] = []

    mutating func insert(_ origin: [UInt8], at now: UInt64) {
      remove(origin)
      times[origin] = now
      order.append(origin)
      guard order.count > UnopenedServers.mostRemembered else { return }
      times[order.removeFirst()] = nil
    }

    mutating func remove(_ origin: [UInt8]) {
      guard times.removeValue(forKey: origin) != nil else { return }
      order.removeAll { $0 == origin }
    }
  }

  /// A connection has been open before.
  func hasOpened(_ origin: [UInt8]) -> Bool { opened.times[origin] != nil }

  /// It was evicted less than `rest` ago.
  func rests(_ origin: [UInt8], at now: UInt64) -> Bool {
    resting.times[origin].map { now &- $0 < Self.rest } ?? false
  }

  /// A route has ended.
  /// - Parameters:
  ///   - hasOpened: one of its connections, or of those of a former route, was open.
  ///   - wasEvicted: for another; it would have stayed otherwise.
  mutating func ended(_ origin: [UInt8], hasOpened: Bool, wasEvicted: Bool, at now: UInt64) {
    if hasOpened {
      opened.insert(origin, at: now)
      resting.remove(origin)
    } else if wasEvicted {
      resting.insert(origin, at: now)
    }
  }
}
