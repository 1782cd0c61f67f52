/// Whether a server has room for more snapshots: filled by them it would refuse what must be
/// written. A pure machine.
struct RoomWatch {
  /// Of a server with a limit of memory, the part up to which snapshots may fill it.
  private static let fullAt = 0.75
  private static let intervalsBetweenLooks = 10

  private(set) var isThere = true
  private var intervals = 0

  /// Once an interval: whether the server is asked now.
  mutating func looksNow() -> Bool {
    defer { intervals += 1 }
    return intervals % Self.intervalsBetweenLooks == 0
  }

  /// - Parameters: `used_memory` and `maxmemory` of INFO, bytes; 0: there is no limit.
  mutating func take(used: String?, most: String?) {
    guard let used = used.flatMap({ Double($0) }), let most = most.flatMap({ Double($0) }) else {
      return
    }
    isThere = most == 0 || used < most * Self.fullAt
  }
}
