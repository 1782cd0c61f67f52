import EventLoop
import TLS
import Text

/// One TCP connection, with TLS or without, on one loop: what HTTP/2 and Redis ride on. A `Dialer`
/// makes it, or a `Listener` accepts it; its `ByteStream` carries what is written. Confined to its
/// loop, which keeps it alive while it is open; it keeps its delegate weakly.
package final class Connection {
  private enum State { case idle, connecting, open, closed }

  package let endpoint: Endpoint
  package weak var delegate: (any ConnectionDelegate)?
  private let loop: EventLoop
  private let options: TransportOptions
  private let clientContext: TLSClientContext?
  /// Of an accepted connection, until it begins.
  private var acceptedSession: TLSSession?
  private let book: AddressBook?
  let stream: ByteStream
  private var state = State.idle
  private(set) var dialer: Dialer?
  /// Whom it is connected to.
  private var address: SocketAddress?
  private var deadline: LoopTimer?

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
    stream = ByteStream(with: endpoint, loop: loop)
    self.delegate = delegate
  }

  /// A connection that a listener accepted; `begin` starts it.
  package init(
    accepted socket: any StreamSocket, tls: TLSSession?, options: TransportOptions, loop: EventLoop,
    from endpoint: Endpoint
  ) {
    self.endpoint = endpoint
    acceptedSession = tls
    self.options = options
    self.loop = loop
    clientContext = nil
    book = nil
    stream = ByteStream(with: endpoint, loop: loop)
    stream.take(socket)
    state = .connecting
  }

  /// As above, of a socket of the kernel's that is this connection's from now on.
  package convenience init(
    accepted descriptor: Int32, tls: TLSSession?, options: TransportOptions, loop: EventLoop,
    from endpoint: Endpoint
  ) {
    self.init(
      accepted: SystemSocket(descriptor, loop: loop), tls: tls, options: options, loop: loop,
      from: endpoint)
  }

  package var isOpen: Bool { state == .open }

  /// A name on the way to the server has no address yet; its time is not the connection's.
  package var isResolving: Bool { dialer?.isResolving == true }

  /// For how long names were looked up, in nanoseconds.
  package private(set) var resolvingNanoseconds: UInt64 = 0

  /// How many addresses the name of the server that it is connected to leads to.
  package private(set) var addressCount = 0

  /// It is connected to a server that is of no use: its other addresses are tried first from now
  /// on.
  package func avoidAddress() { if let address { book?.failed(address, at: loop.now) } }

  /// The most that is encrypted at a time: it is in memory twice then.
  package static let usualPiece = 128 * 1024
  /// A smaller one makes TLS records that are as small.
  package var largestPiece: Int {
    get { stream.largestPiece }
    set { stream.largestPiece = newValue }
  }

  /// The most that is read at a time: so much may still come after `pauseReading`.
  package var largestRead: Int {
    get { stream.largestRead }
    set { stream.largestRead = newValue }
  }

  /// A peer that writes nothing more may still read: the delegate hears `connectionPeerFinished`
  /// in the place of `connectionClosed`.
  package var outlivesPeersEnd = false

  /// Of a connection that a listener accepted and that is open: the client's certificate, if it has
  /// shown one.
  package var peer: PeerCertificate? { stream.tls?.peer }

  /// Of an open connection of a client: whether it speaks TLS.
  package var isEncrypted: Bool { stream.tls != nil }

  /// Of one that speaks TLS and is open: what both sides have agreed to speak (ALPN); nil: they
  /// have not.
  package var applicationProtocol: String? { stream.tls?.applicationProtocol }

  /// Of an open connection that speaks TLS: what its handshake agreed on.
  package var handshake: TLSHandshake? { stream.tls?.agreed }

  /// Bytes written that the socket has not taken yet.
  package var pendingBytes: Int { stream.pendingBytes }

  /// Bytes that the socket has taken, as they went: encrypted, where TLS is spoken.
  package var sentBytes: UInt64 { stream.sentBytes }

  /// Of `sentBytes`, those that the peer's host has acknowledged: a proxy's, where one is between.
  package var acknowledgedBytes: UInt64 { stream.acknowledgedBytes }

  // MARK: opening

  package func connect() {
    guard state == .idle else { return }
    state = .connecting
    if let network = options.network {
      startDeadline()
      // It keeps the connection alive, as the loop does later.
      return network.connect(to: endpoint, from: loop) { self.connected($0) }
    }
    let began = loop.now
    let dialer = Dialer(
      to: options.connectTo ?? endpoint, options: options, book: book, loop: loop)
    self.dialer = dialer
    // It keeps the connection alive, as the loop does later.
    dialer.start(
      whenResolved: {
        self.resolvingNanoseconds = self.loop.now &- began
        self.startDeadline()
      },
      whenOver: { self.dialed($0) })
  }

  private func connected(_ outcome: Result<any StreamSocket, TransportError>) {
    guard state == .connecting else {
      if case .success(let socket) = outcome { socket.close() }
      return
    }
    switch outcome {
    case .failure(let error): fail(error)
    case .success(let socket):
      stream.take(socket)
      startStream()
    }
  }

  private func dialed(_ outcome: Dialer.Outcome) {
    switch outcome {
    case .failed(let error): fail(error)
    case .connected(let descriptor):
      address = dialer?.address
      addressCount = dialer?.addressCount ?? 0
      dialer = nil
      stream.take(SystemSocket(descriptor, loop: loop))
      startStream()
    }
  }

  /// For a listener: the other side has connected already.
  package func begin() {
    startDeadline()
    startStream()
  }

  private func startStream() {
    do throws(TransportError) {
      try stream.start(tls: session(), for: self)
    } catch {
      fail(error)
    }
  }

  private func session() throws(TransportError) -> TLSSession? {
    guard let clientContext else { return acceptedSession }
    do {
      return try TLSSession(
        client: clientContext, host: endpoint.host, protocols: options.applicationProtocols)
    } catch {
      throw TransportError(.tls, "no TLS to \(endpoint)", cause: error)
    }
  }

  private func startDeadline() {
    deadline = loop.schedule(after: options.connectTimeout) { [weak self] in
      guard let self, state == .connecting else { return }
      let limit = DurationText.text(options.connectTimeout)
      fail(
        dialer?.lateness(limit)
          ?? TransportError(.timeout, "\(endpoint) gave no connection in \(limit)"))
    }
  }

  // MARK: writing

  /// Queues a copy of `bytes`; they leave at the end of this turn. Nothing happens on a closed
  /// connection. The queue has no bound of its own: the owner watches `pendingBytes`.
  package func write(_ bytes: UnsafeRawBufferPointer) { stream.write(bytes) }

  /// Sends now what the turn's end would send.
  package func flush() { stream.flush() }

  /// Reads now what has come, which the loop would read in its turn.
  package func readNow() { if state == .open { stream.read() } }

  /// The peer's bytes wait in the kernel, and the peer once that is full.
  package func pauseReading() { if state == .open { stream.isReadingPaused = true } }
  package func resumeReading() { if state == .open { stream.isReadingPaused = false } }

  // MARK: closing

  /// Nothing more is written: the peer reads an end once it has what the socket took before.
  /// Reading goes on.
  package func finishWriting() { stream.finishWriting() }

  /// Closes at once: what the socket has not taken is dropped, the delegate hears nothing more.
  package func close() {
    if state != .closed { tearDown(isOrderly: true) }
  }

  private func tearDown(isOrderly: Bool) {
    state = .closed
    delegate = nil
    deadline?.cancel()
    dialer?.cancel()
    dialer = nil
    stream.close(isOrderly: isOrderly)
  }

  // MARK: what the stream says

  func opened() {
    state = .open
    if let address { book?.answered(address) }
    deadline?.cancel()
    deadline = nil
    delegate?.connectionOpened(self)
  }

  func received(_ bytes: UnsafeRawBufferPointer) { delegate?.connection(self, received: bytes) }

  func peerFinished() { delegate?.connectionPeerFinished(self) }

  func drained() { delegate?.connectionDrained(self) }

  /// - Parameter error: nil: the peer closed in order.
  func fail(_ error: TransportError?) {
    guard state != .closed else { return }
    // An address whose connection fails before it is open is not tried first again.
    if state != .open, let address = address ?? dialer?.address {
      book?.failed(address, at: loop.now)
    }
    let listener = delegate
    tearDown(isOrderly: false)
    listener?.connectionClosed(self, error: error)
  }
}

extension Connection: LoopHandler {
  package func descriptorReady(_ readiness: Interest) { stream.ready(readiness) }
}

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
  /// The peer writes nothing more, of a connection that outlives that.
  func connectionPeerFinished(_ connection: Connection)
}

extension ConnectionDelegate {
  package func connectionPeerFinished(_ connection: Connection) {}
}
