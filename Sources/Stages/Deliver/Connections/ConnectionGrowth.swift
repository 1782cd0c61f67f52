/// How many ordinary connections a route has: one more while those that it has take nothing more
/// and pushes wait, one fewer when it is not needed. A server takes opening and closing connections
/// quickly for an attack: so it grows in seconds, and shrinks in minutes. A pure machine; times are
/// monotonic nanoseconds.
struct ConnectionGrowth {
  /// The need for connections, as a route shows it when it is observed.
  enum Need: CaseIterable {
    /// Every connection is open and takes nothing more, though pushes wait that may be sent.
    case more
    case asMany
    /// All but the last would do.
    case fewer
  }

  let least: Int
  let most: Int
  private let growAfter: UInt64
  private let shrinkAfter: UInt64
  private(set) var wanted: Int
  /// The need that was seen last, and since when.
  private var need = Need.asMany
  private var since: UInt64 = 0
  private var restsUntil: UInt64 = 0

  init(_ options: DeliverOptions) {
    least = options.connectionsPerRoute
    most = max(least, options.mostConnectionsPerRoute ?? least)
    growAfter = options.growAfter.nanoseconds
    shrinkAfter = options.shrinkAfter.nanoseconds
    wanted = least
  }

  /// Called now and then.
  mutating func observe(_ need: Need, at now: UInt64) {
    if need != self.need {
      self.need = need
      since = now
    }
    let elapsed = now &- since
    switch need {
    case .more where wanted < most && elapsed >= growAfter && now >= restsUntil: wanted += 1
    case .fewer where wanted > least && elapsed >= shrinkAfter: wanted -= 1
    case .more, .asMany, .fewer: return
    }
    // The next step takes as long again.
    since = now
  }

  /// The last connection was of no use: a server, or something before it, may admit so many and no
  /// more, and none is tried for a while.
  /// - Returns: whether it is given up, as one that was opened besides.
  mutating func cameToNothing(at now: UInt64) -> Bool {
    guard wanted > least else { return false }
    wanted -= 1
    since = now
    restsUntil = now &+ Evidence.memory
    return true
  }
}
