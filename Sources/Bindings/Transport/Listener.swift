import CLinux
import EventLoop
import Glibc
import TLS

/// Accepts connections on one address; its loop keeps it while it is open.
package final class Listener {
  /// The port that it got, when asked for port 0.
  package private(set) var port = 0
  /// -1 where a network of its own takes the connections.
  private let descriptor: Int32
  private var listening: (any NetworkListening)?
  private let tls: TLSServerContext?
  private let options: TransportOptions
  private let loop: EventLoop
  private let accept: (Connection) -> (any ConnectionDelegate)?
  private var registration: Registration?

  /// `accept` names who hears of a new connection, and keeps it alive; nil refuses.
  package init(
    host: String, port: Int, tls: TLSServerContext?, options: TransportOptions = .init(),
    loop: EventLoop, accept: @escaping (Connection) -> (any ConnectionDelegate)?
  ) throws(TransportError) {
    let wanted = Endpoint(host: host, port: port)
    self.tls = tls
    self.options = options
    self.loop = loop
    self.accept = accept
    if let network = options.network {
      descriptor = -1
      let listening = try network.listen(at: wanted, on: loop) { [weak self] socket in
        self?.admit(socket)
      }
      self.port = listening.port
      self.listening = listening
      return
    }
    let address: SocketAddress
    switch Resolver.lookUp(wanted, flags: AI_PASSIVE) {
    case .failure(let error): throw error
    case .success(let addresses):
      guard let first = addresses.first else {
        throw TransportError(.cannotListen, "\(host) has no address")
      }
      address = first
    }
    descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue) | SocketFlags.all, 0)
    guard descriptor >= 0 else { throw .system(.cannotListen, "no socket for \(wanted)", errno) }
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    guard let bound = Self.bindAndListen(descriptor, address) else {
      let failure = errno
      Glibc.close(descriptor)
      throw .system(.cannotListen, "cannot listen on \(wanted)", failure)
    }
    self.port = bound
    do {
      registration = try loop.add(descriptor, [.read], self)
    } catch {
      Glibc.close(descriptor)
      throw TransportError(.noDescriptors, "\(error)")
    }
  }

  /// Takes no more connections; those that are there go on.
  package func close() {
    listening?.close()
    listening = nil
    guard let registration else { return }
    loop.remove(registration)
    self.registration = nil
    Glibc.close(descriptor)
  }

  private static func bindAndListen(_ descriptor: Int32, _ address: SocketAddress) -> Int? {
    guard address.withSocketAddress({ Glibc.bind(descriptor, $0, $1) }) == 0,
      Glibc.listen(descriptor, 1024) == 0
    else { return nil }
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let named = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    guard named == 0 else { return nil }
    // The port is at the same place, big-endian, in IPv4 and IPv6 addresses.
    return withUnsafeBytes(of: &storage) { Int($0[2]) << 8 | Int($0[3]) }
  }

  private func acceptOne() -> Bool {
    let accepted = linux_accept(descriptor)
    guard accepted >= 0 else {
      if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { rest() }
      return errno == EINTR || errno == ECONNABORTED
    }
    Socket.set(options, of: accepted)
    admit(SystemSocket(accepted, loop: loop))
    return true
  }

  private func admit(_ socket: any StreamSocket) {
    var session: TLSSession?
    if let tls {
      guard let made = try? TLSSession(server: tls) else { return socket.close() }
      session = made
    }
    let connection = Connection(
      accepted: socket, tls: session, options: options, loop: loop,
      from: Endpoint(host: "client", port: port))
    guard let delegate = accept(connection) else { return connection.close() }
    connection.delegate = delegate
    connection.begin()
  }

  /// No descriptor is left: the connection waits in the kernel, and asking for it at once would be
  /// a spin.
  private func rest() {
    guard let registration else { return }
    loop.change(registration, to: [])
    loop.schedule(after: .milliseconds(100)) { [weak self] in
      guard let self, self.registration == registration else { return }
      loop.change(registration, to: [.read])
    }
  }
}

extension Listener: LoopHandler {
  package func descriptorReady(_ readiness: Interest) {
    // Bounded per turn, so that a storm of connections does not stop those that are there.
    for _ in 0..<64 where registration != nil {
      guard acceptOne() else { return }
    }
  }
}
