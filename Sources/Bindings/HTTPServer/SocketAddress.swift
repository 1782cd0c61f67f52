import Glibc

/// Where to listen, for the system.
struct SocketAddress {
  private let bytes: [UInt8]

  /// - Throws: when the host is no address of this machine's and no name that it knows.
  init(host: String, port: Int) throws(HTTPServerError) {
    var hints = addrinfo()
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    let result = getaddrinfo(host, String(port), &hints, &found)
    defer { if found != nil { freeaddrinfo(found) } }
    guard result == 0, let first = found?.pointee, let address = first.ai_addr else {
      throw HTTPServerError(
        description: "cannot listen on \(host): \(String(cString: gai_strerror(result)))")
    }
    bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(first.ai_addrlen)))
  }

  func withUnsafe<T>(_ body: (UnsafePointer<sockaddr>?) -> T) -> T {
    bytes.withUnsafeBytes { body($0.baseAddress?.assumingMemoryBound(to: sockaddr.self)) }
  }
}
