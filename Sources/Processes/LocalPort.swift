import Glibc

/// TCP ports of 127.0.0.1.
package enum LocalPort {
  /// Below the ports that Linux gives to outgoing connections (from 32,768), so that a server that
  /// was killed finds its port free when it comes back.
  private static let range: ClosedRange<Int> = 18_000...31_999

  /// A port of the loopback address that nobody has now, picked at random. Somebody may still take
  /// it first: what starts again on its port, or must get it, wants a `ReservedPort`.
  package static func findFree() throws(LocalRunError) -> Int { try ReservedPort().number }

  /// Whether somebody listens on a port now. To the loopback address a connection is made or
  /// refused at once.
  package static func isListening(_ port: Int) -> Bool {
    withSocket(port) { connect($0, $1, $2) == 0 }
  }

  /// Whether a server can listen on a port now, as servers do (SO_REUSEADDR): connections of
  /// earlier servers may still be ending.
  package static func canBeListenedOn(_ port: Int) -> Bool {
    guard let descriptor = makeSocket() else { return false }
    defer { close(descriptor) }
    ReservedPort.share(descriptor)
    return withAddress(of: port) { bind(descriptor, $0, $1) == 0 && listen(descriptor, 1) == 0 }
  }

  /// Whether nobody has the port, not even reserved.
  static func isFree(_ port: Int) -> Bool { withSocket(port) { bind($0, $1, $2) == 0 } }

  /// A socket that has a port, picked at random, for itself; its owner closes it.
  static func bindFree() throws(LocalRunError) -> (descriptor: Int32, port: Int) {
    for _ in 0..<1_000 {
      let port = Int.random(in: range)
      guard let descriptor = makeSocket() else { break }
      if withAddress(of: port, { bind(descriptor, $0, $1) == 0 }) { return (descriptor, port) }
      close(descriptor)
    }
    throw LocalRunError(
      .unavailable, "no free port on 127.0.0.1 between \(range.lowerBound) and \(range.upperBound)")
  }

  private static func withSocket(
    _ port: Int, _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Bool
  ) -> Bool {
    guard let descriptor = makeSocket() else { return false }
    defer { close(descriptor) }
    return withAddress(of: port) { body(descriptor, $0, $1) }
  }

  /// Child processes do not inherit it.
  private static func makeSocket() -> Int32? {
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(AF_INET, kind, 0)
    return descriptor >= 0 ? descriptor : nil
  }

  private static func withAddress<Result>(
    of port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}

/// A TCP port of 127.0.0.1 that is its owner's for as long as this object lives: no `LocalPort`
/// finds it free, however often the server for which it is kept dies and starts again.
///
/// A socket keeps it that never listens. A server that sets SO_REUSEADDR, as redis-server does, can
/// listen beside it; one that does not cannot have the port.
package final class ReservedPort: Sendable {
  package let number: Int
  /// Owned, and closed with this object.
  private let descriptor: Int32

  package init() throws(LocalRunError) {
    (descriptor, number) = try LocalPort.bindFree()
    // Only now: a socket that may share its port could have taken one that another reserves.
    Self.share(descriptor)
  }

  fileprivate static func share(_ descriptor: Int32) {
    var isShared: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { close(descriptor) }
}
