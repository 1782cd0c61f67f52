import CLinux
import Glibc

/// Where a name leads to, in the order of preference.
package typealias AddressLookUp =
  @Sendable (Endpoint) -> Result<[SocketAddress], TransportError>

/// A socket address, with its port, as the kernel takes it.
package struct SocketAddress: Sendable, Hashable {
  let family: Int32
  let bytes: [UInt8]

  /// 4 or 16 bytes in network order; nil of a family that is neither IPv4 nor IPv6.
  var networkBytes: [UInt8]? {
    let range: Range<Int>? =
      switch family {
      case AF_INET: 4..<8  // of sockaddr_in
      case AF_INET6: 8..<24  // of sockaddr_in6
      default: nil
      }
    guard let range, range.upperBound <= bytes.count else { return nil }
    return Array(bytes[range])
  }

  package var isIPv6: Bool { family == AF_INET6 }

  /// The address without its port, for people; the port stays out because a name has none.
  package var host: String {
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard let networkBytes,
      inet_ntop(family, networkBytes, &buffer, socklen_t(buffer.count)) != nil
    else { return "an address of an unknown kind" }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Opens a non-blocking stream socket and begins to connect. Nil and errno when that fails at
  /// once.
  func connect(_ options: TransportOptions) -> Int32? {
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | SocketFlags.all, 0)
    guard descriptor >= 0 else { return nil }
    Socket.set(options, of: descriptor)
    let result = withSocketAddress { Glibc.connect(descriptor, $0, $1) }
    guard result == 0 || errno == EINPROGRESS else {
      let failure = errno
      close(descriptor)
      errno = failure
      return nil
    }
    return descriptor
  }

  func withSocketAddress<T>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
    var storage = sockaddr_storage()
    withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: bytes.prefix($0.count)) }
    return withUnsafePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(bytes.count)) }
    }
  }
}

/// The system's resolver. It blocks: see `NameResolver`.
package enum Resolver {
  /// Of an address that is written in digits.
  package static func numeric(_ endpoint: Endpoint) -> Result<[SocketAddress], TransportError> {
    lookUp(endpoint, flags: AI_NUMERICHOST)
  }

  static func lookUp(
    _ endpoint: Endpoint, flags: Int32 = 0
  ) -> Result<[SocketAddress], TransportError> {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = flags | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list)
    guard code == 0 else {
      let words = String(cString: gai_strerror(code))
      return .failure(
        TransportError(.unresolved, "DNS: \(endpoint.host) does not resolve: \(words)"))
    }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let item = next {
      let raw = UnsafeRawBufferPointer(
        start: item.pointee.ai_addr, count: Int(item.pointee.ai_addrlen))
      addresses.append(SocketAddress(family: item.pointee.ai_family, bytes: Array(raw)))
      next = item.pointee.ai_next
    }
    return .success(addresses)
  }
}

enum SocketFlags {
  static let all = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
}
