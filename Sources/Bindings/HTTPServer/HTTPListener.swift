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
  /// Whoever takes the clients in.
  var whenSomebodyWaits: () -> Void = {}
  private var registration: Registration?
  private var resting: LoopTimer?

  /// How long who cannot be taken waits in the kernel until that is tried again.
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

  /// Who waited, or why nobody is there.
  enum Next {
    case client(descriptor: Int32, PeerAddress)
    case nobody
    /// Somebody waits and cannot be taken.
    case noDescriptors
  }

  func next() -> Next {
    var address = sockaddr_storage()
    // Who has gone while it waited is passed over.
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
