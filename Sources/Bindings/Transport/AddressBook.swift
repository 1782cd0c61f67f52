/// The addresses of one host, shared by the connections to it: each begins with the next one, so
/// that they spread over all of them, and those that did not answer lately come last. Confined to
/// one loop.
package final class AddressBook {
  /// An address that failed is tried last for so long. Nanoseconds.
  static let memory: UInt64 = 60_000_000_000

  private var turn: Int
  /// When each failed last; of no other addresses than those that the name led to last.
  private var failures: [SocketAddress: UInt64] = [:]

  /// - Parameter firstTurn: where the first connection begins; by chance, so that the workers of a
  ///   fleet do not all begin with the same.
  package init(firstTurn: Int = 0) { turn = firstTurn & 0xFFFF }

  /// In the order to try them.
  func order(_ found: [SocketAddress], at now: UInt64) -> [SocketAddress] {
    failures = failures.filter { found.contains($0.key) && now &- $0.value < Self.memory }
    defer { turn = (turn + 1) & 0xFFFF }
    let healthy = found.filter { failures[$0] == nil }
    let failed = found.filter { failures[$0] != nil }
    return Self.interleaved(healthy, turn: turn) + Self.interleaved(failed, turn: turn)
  }

  func failed(_ address: SocketAddress, at now: UInt64) { failures[address] = now }

  func answered(_ address: SocketAddress) { failures[address] = nil }

  /// IPv6 and IPv4 by turns, beginning with the kind that the system puts first (RFC 8305, section
  /// 4); of each kind the `turn`-th first.
  static func interleaved(_ found: [SocketAddress], turn: Int = 0) -> [SocketAddress] {
    guard let first = found.first else { return [] }
    var kinds = [
      rotated(found.filter { $0.family == first.family }, turn),
      rotated(found.filter { $0.family != first.family }, turn),
    ]
    var order: [SocketAddress] = []
    while order.count < found.count {
      if let next = kinds[0].first {
        order.append(next)
        kinds[0].removeFirst()
      }
      kinds.swapAt(0, 1)
    }
    return order
  }

  private static func rotated(_ addresses: [SocketAddress], _ turn: Int) -> [SocketAddress] {
    guard !addresses.isEmpty else { return [] }
    let start = turn % addresses.count
    return Array(addresses[start...] + addresses[..<start])
  }
}
