import Glibc
import Testing

/// A port on which nobody listens.
func unusedPort() throws -> Int {
  let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  defer { Glibc.close(socket) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let port = withUnsafeMutablePointer(to: &address) { pointer -> UInt16? in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
      guard bind(socket, generic, length) == 0, getsockname(socket, generic, &length) == 0
      else { return nil }
      return UInt16(bigEndian: pointer.pointee.sin_port)
    }
  }
  return Int(try #require(port))
}
