import Glibc

package enum FreePort {
  /// Below the ports that the kernel gives to outgoing connections (from 32,768), so that a server
  /// that was killed finds its port free when it comes back.
  private static let range: ClosedRange<UInt16> = 18_000...31_999

  /// A TCP port of the loopback address that nobody listens on now, picked at random. Another
  /// process may still take it first: whoever starts a server on it tries again with the next one.
  package static func find() throws -> Int {
    for _ in 0..<1_000 {
      let port = UInt16.random(in: range)
      if isFree(port) { return Int(port) }
    }
    throw TestSupportError("no free port found in \(range)")
  }

  private static func isFree(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}
