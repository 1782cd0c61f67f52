import Glibc

/// TCP ports of 127.0.0.1.
package enum LocalPort {
  /// Below the ports that Linux gives to outgoing connections (from 32,768), so that a server that
  /// was killed finds its port free when it comes back.
  private static let range: ClosedRange<UInt16> = 18_000...31_999

  /// A port of the loopback address that nobody listens on now, picked at random. Somebody may
  /// still take it first: who starts a server on it tries again with another.
  package static func findFree() throws(LocalRunError) -> Int {
    for _ in 0..<1_000 {
      let port = UInt16.random(in: range)
      if isFree(port) { return Int(port) }
    }
    throw LocalRunError(
      .unavailable, "no free port on 127.0.0.1 between \(range.lowerBound) and \(range.upperBound)")
  }

  private static func isFree(_ port: UInt16) -> Bool {
    withSocket(port) { bind($0, $1, $2) == 0 }
  }

  /// Whether somebody listens on a port now. To the loopback address a connection is made or
  /// refused at once.
  package static func isListening(_ port: Int) -> Bool {
    withSocket(UInt16(truncatingIfNeeded: port)) { connect($0, $1, $2) == 0 }
  }

  private static func withSocket(
    _ port: UInt16, _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Bool
  ) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
