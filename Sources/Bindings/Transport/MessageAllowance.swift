/// How many messages of TLS' own a peer may send: handshake, tickets, changes of keys. They carry
/// nothing, so who is above TLS never hears of them; each costs us time, and an answer perhaps.
/// Servers send a few at the start and change keys after millions of records, if ever. Pure.
struct MessageAllowance {
  /// At once. A handshake takes up to ten, and some servers send a ticket with each answer at
  /// first.
  static let burst = 64
  private static let nanosecondsEach: UInt64 = 1_000_000_000

  private var seen = 0
  private var level = 0
  private var lastDrain: UInt64 = 0

  /// - Parameters:
  ///   - total: messages since the connection began.
  ///   - now: monotonic nanoseconds.
  mutating func covers(_ total: Int, at now: UInt64) -> Bool {
    guard total != seen else { return true }
    let drained = (now &- lastDrain) / Self.nanosecondsEach
    lastDrain &+= drained &* Self.nanosecondsEach
    level = max(0, level - Int(clamping: drained)) + total - seen
    seen = total
    return level <= Self.burst
  }
}
