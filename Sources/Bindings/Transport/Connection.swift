import CLinux
import EventLoop
import Glibc
import TLS

/// Hears of a connection; every call is on the loop.
package protocol ConnectionDelegate: AnyObject {
  /// Connected; with TLS: the handshake is done and the peer is who it should be.
  func connectionOpened(_ connection: Connection)
  /// `bytes` are good during the call only.
  func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer)
  /// All that was written has gone to the socket.
  func connectionDrained(_ connection: Connection)
  /// Once, and never after `close`. `nil`: the peer closed in order.
  func connectionClosed(_ connection: Connection, error: TransportError?)
}

/// One TCP connection, with TLS or without, on one loop: what HTTP/2 and Redis ride on. What is
/// written in a turn leaves at its end in one system call where the socket allows. Confined to its
/// loop, which keeps it alive while it is open; it keeps its delegate weakly. How it opens is in
/// Connection+Opening, what it carries in Connection+Bytes.
package final class Connection {
  enum State {
    case idle, resolving, connecting
    /// A proxy is asked to lead to the server.
    case tunnelling
    case securing, open, closed
  }

  package let endpoint: Endpoint
  package weak var delegate: (any ConnectionDelegate)?
  let loop: EventLoop
  let options: TransportOptions
  let clientContext: TLSClientContext?
  var tls: TLSSession?
  var messageAllowance = MessageAllowance()
  var state = State.idle
  var descriptor: Int32 = -1
  var registration: Registration?
  var interest: Interest = []
  var pending = ByteQueue()
  var isFlushScheduled = false
  /// The socket takes no more; what it has received is read before the delegate hears of it.
  var writeFailure: TransportError?
  let book: AddressBook?
  var race: ConnectionRace?
  /// Whom it is connected to, or is about to be.
  var address: SocketAddress?
  var tunnel: ProxyTunnel?
  var deadline: LoopTimer?

  /// A client's connection; `connect` starts it.
  /// - Parameter addresses: what all connections to this host share; nil: it begins with the
  ///   address that the system puts first.
  package init(
    to endpoint: Endpoint, tls: TLSClientContext?, options: TransportOptions,
    addresses: AddressBook? = nil, loop: EventLoop, delegate: any ConnectionDelegate
  ) {
    self.endpoint = endpoint
    book = addresses
    clientContext = tls
    self.options = options
    self.loop = loop
    self.delegate = delegate
  }

  /// A connection that a listener accepted.
  init(
    accepted descriptor: Int32, tls: TLSSession?, options: TransportOptions, loop: EventLoop,
    from endpoint: Endpoint
  ) {
    self.endpoint = endpoint
    self.descriptor = descriptor
    self.tls = tls
    self.options = options
    self.loop = loop
    clientContext = nil
    book = nil
    state = .connecting
  }

  deinit {
    if descriptor >= 0 { Glibc.close(descriptor) }
    pending.deallocate()
  }

  package var isOpen: Bool { state == .open }

  /// What is encrypted at a time at most: it is in memory twice then.
  package static let usualPiece = 128 * 1024
  /// A smaller one makes TLS records that are as small.
  package var largestPiece = Connection.usualPiece

  /// Of a connection that a listener accepted and that is open: the client's certificate, if it has
  /// shown one.
  package var peer: PeerCertificate? { tls?.peer }

  /// Bytes written that the socket has not taken yet.
  package var pendingBytes: Int { pending.count + (tls?.ciphertext.count ?? 0) }

  /// Bytes that the socket has taken, as they went: encrypted, where TLS is spoken.
  package internal(set) var sentBytes: UInt64 = 0

  /// Of `sentBytes`, those that the peer's host has acknowledged: a proxy's, where one is between.
  package var acknowledgedBytes: UInt64 {
    guard descriptor >= 0 else { return 0 }
    let unacknowledged = linux_unacknowledged_bytes(descriptor)
    return unacknowledged < 0 ? 0 : sentBytes - min(sentBytes, UInt64(unacknowledged))
  }

  /// Reads now what has come, which the loop would read in its turn.
  package func readNow() { if state == .open { readSocket() } }

  // MARK: closing

  /// Nothing more is written: the peer reads an end once it has what the socket took before. What
  /// the peer writes is read on.
  package func finishWriting() {
    guard state == .open else { return }
    flush()
    pending.removeAll()
    if let tls {
      tls.finish()
      _ = sendToSocket(tls.ciphertext)
    }
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Closes at once: what the socket has not taken is dropped, the delegate hears nothing more.
  package func close() {
    guard state != .closed else { return }
    delegate = nil
    if state == .open, let tls, pending.count == 0, tls.ciphertext.isEmpty {
      tls.finish()
      _ = sendToSocket(tls.ciphertext)
    }
    tearDown()
  }

  func tearDown() {
    state = .closed
    delegate = nil
    deadline?.cancel()
    race?.cancel()
    race = nil
    abandonDescriptor()
    pending.removeAll()
  }

  func abandonDescriptor() {
    if let registration { loop.remove(registration) }
    registration = nil
    interest = []
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  func fail(_ error: TransportError?) {
    guard state != .closed else { return }
    // Whoever takes the connection and then says nothing of use is not asked first again.
    if state != .open, let address { book?.failed(address, at: loop.now) }
    let listener = delegate
    tearDown()
    listener?.connectionClosed(self, error: error)
  }

  // MARK: the loop

  func watch(_ wanted: Interest) -> Bool {
    do {
      registration = try loop.add(descriptor, wanted, self)
      interest = wanted
      return true
    } catch {
      fail(TransportError(.noDescriptors, "\(error)"))
      return false
    }
  }

  func setInterest(_ wanted: Interest) {
    guard wanted != interest, let registration else { return }
    interest = wanted
    loop.change(registration, to: wanted)
  }
}

extension Connection: LoopHandler {
  package func descriptorReady(_ readiness: Interest) {
    switch state {
    case .tunnelling, .securing, .open:
      if readiness.contains(.read) { readSocket() }
      if readiness.contains(.write) { flush() }
    case .idle, .resolving, .connecting, .closed: return
    }
  }
}
