import CLinux
import EventLoop
import Glibc

/// The listening socket of a server. It rests while nobody can be taken in: a listening socket is
/// ready for as long as somebody waits.
///
/// Confined to its loop, which keeps it until `close`.
final class HTTPListener {
  let port: Int
  private let loop: EventLoop
  private let descriptor: Int32
  /// Called when a client waits to be accepted.
  var whenSomebodyWaits: () -> Void = {}
  private var registration: Registration?
  private var resting: LoopTimer?

  /// The pause before the next try to accept clients when one could not be accepted.
  private static let rest: Duration = .milliseconds(100)

  /// - Parameter sharedPort: where another listens that shares it.
  init(
    _ options: HTTPServerOptions, sharedPort: Int? = nil, loop: EventLoop
  ) throws(HTTPServerError) {
    let wanted = sharedPort ?? options.port
    let address = try ListenAddress(host: options.host, port: wanted)
    // SO_REUSEPORT lets any process of our user in: whoever is first looks whether the port is
    // free. Of two that start at the same moment both may get it.
    let isFree = !options.sharesPort || sharedPort != nil || address.isFree()
    descriptor = isFree ? address.listen(isShared: options.sharesPort) : -1
    guard descriptor >= 0 else {
      throw HTTPServerError(
        description: "cannot listen on \(options.host) port \(wanted): "
          + String(cString: strerror(errno)))
    }
    self.loop = loop
    port = ListenAddress.port(of: descriptor)
    do throws(LoopError) {
      registration = try loop.add(descriptor, [.read], self)
    } catch {
      Glibc.close(descriptor)
      throw HTTPServerError(description: "\(error)")
    }
  }

  /// A connection that waited, or why there is none.
  enum Next {
    case client(descriptor: Int32, PeerAddress)
    case nobody
    /// Somebody waits and cannot be taken.
    case noDescriptors
  }

  func next() -> Next {
    var address = sockaddr_storage()
    // A client that left while it waited is passed over.
    for _ in 0..<64 {
      let client = linux_accept_from(descriptor, &address)
      if client >= 0 { return .client(descriptor: client, PeerAddress(address)) }
      guard errno == EINTR || errno == ECONNABORTED else { break }
    }
    return [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) ? .noDescriptors : .nobody
  }

  /// Closes who was taken and cannot be served.
  static func refuse(_ client: Int32) { Glibc.close(client) }

  /// Says nothing for a while.
  func pause() {
    guard let registration, resting == nil else { return }
    loop.change(registration, to: [])
    resting = loop.schedule(after: Self.rest) { [weak self] in self?.resume() }
  }

  /// Says who waits from the next turn on.
  func resume() {
    resting?.cancel()
    resting = nil
    if let registration { loop.change(registration, to: [.read]) }
  }

  func close() {
    guard let registration else { return }
    self.registration = nil
    resting?.cancel()
    loop.remove(registration)
    Glibc.close(descriptor)
  }
}

extension HTTPListener: LoopHandler {
  func descriptorReady(_ readiness: Interest) { whenSomebodyWaits() }
}

/// Where to listen, for the system.
struct ListenAddress {
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

  /// Whether nobody has it; errno tells why not.
  func isFree() -> Bool {
    let descriptor = bound(isShared: false)
    guard descriptor >= 0 else { return false }
    close(descriptor)
    return true
  }

  /// A socket that listens there. -1 and errno when there is none.
  /// - Parameter isShared: with all others of our user that listen there so.
  func listen(isShared: Bool) -> Int32 {
    let descriptor = bound(isShared: isShared)
    guard descriptor >= 0, Glibc.listen(descriptor, 1024) != 0 else { return descriptor }
    return Self.failed(descriptor)
  }

  private func bound(isShared: Bool) -> Int32 {
    let family = bytes.withUnsafeBytes { Int32($0.loadUnaligned(as: sa_family_t.self)) }
    // SOCK_NONBLOCK and SOCK_CLOEXEC, which are these on Linux.
    let flags = O_NONBLOCK | O_CLOEXEC
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | flags, 0)
    guard descriptor >= 0 else { return -1 }
    var on: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
    if isShared { setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, size) }
    // One family each: the same on every system, whatever its default is.
    if family == AF_INET6 {
      setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size)
    }
    let result = bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map {
        bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
      }
    }
    return result == 0 ? descriptor : Self.failed(descriptor)
  }

  /// Closes it, and keeps errno.
  private static func failed(_ descriptor: Int32) -> Int32 {
    let failure = errno
    close(descriptor)
    errno = failure
    return -1
  }

  /// Of a socket that listens; 0 when it does not.
  static func port(of descriptor: Int32) -> Int {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    guard result == 0 else { return 0 }
    // At the same place, big-endian, in addresses of both families.
    return withUnsafeBytes(of: &storage) { Int($0[2]) << 8 | Int($0[3]) }
  }
}
