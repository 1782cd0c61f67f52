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

/// One TCP connection, with TLS or without, on one loop: what HTTP/2 and Redis ride on. What is written in a
/// turn leaves at its end in one system call where the socket allows. Confined to its loop, which keeps it
/// alive while it is open; it keeps its delegate weakly.
package final class Connection {
  private enum State { case idle, resolving, connecting, securing, open, closed }

  package let endpoint: Endpoint
  package weak var delegate: (any ConnectionDelegate)?
  private let loop: EventLoop
  private let options: TransportOptions
  private let clientContext: TLSClientContext?
  private var tls: TLSSession?
  private var state = State.idle
  private var descriptor: Int32 = -1
  private var registration: Registration?
  private var interest: Interest = []
  private var pending = ByteQueue()
  private var isFlushScheduled = false
  private var addresses: [SocketAddress] = []
  private var lastFailure: TransportError?
  private var deadline: LoopTimer?
  private var addressDeadline: LoopTimer?

  /// A client's connection; `connect` starts it.
  package init(
    to endpoint: Endpoint, tls: TLSClientContext?, options: TransportOptions, loop: EventLoop,
    delegate: any ConnectionDelegate
  ) {
    self.endpoint = endpoint
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
    state = .connecting
  }

  deinit {
    if descriptor >= 0 { Glibc.close(descriptor) }
    pending.deallocate()
  }

  package var isOpen: Bool { state == .open }

  /// Bytes written that the socket has not taken yet.
  package var pendingBytes: Int { pending.count + (tls?.ciphertext.count ?? 0) }

  // MARK: opening

  package func connect() {
    guard state == .idle else { return }
    state = .resolving
    startDeadline()
    let handoff = LoopConfined(self)
    Resolver.resolve(endpoint, on: loop) { result in handoff.value?.resolved(result) }
  }

  /// For a listener: the other side has connected already.
  func begin() {
    startDeadline()
    guard watch([.read]) else { return }
    connected()
  }

  private func startDeadline() {
    deadline = loop.schedule(after: options.connectTimeout) { [weak self] in
      guard let self, state != .open, state != .closed else { return }
      let limit = options.connectTimeout
      fail(lastFailure ?? TransportError(.timeout, "\(endpoint) gave no connection in \(limit)"))
    }
  }

  private func resolved(_ result: Result<[SocketAddress], TransportError>) {
    guard state == .resolving else { return }
    switch result {
    case .failure(let error): fail(error)
    case .success(let found):
      addresses = found
      tryNextAddress()
    }
  }

  private func tryNextAddress() {
    abandonDescriptor()
    addressDeadline?.cancel()
    state = .connecting
    guard !addresses.isEmpty else {
      fail(lastFailure ?? TransportError(.unreachable, "\(endpoint) has no address"))
      return
    }
    // One dead address of several must not use up the whole time.
    let share = addresses.count > 1 ? options.connectTimeout / (addresses.count + 1) : nil
    let address = addresses.removeFirst()
    guard let connecting = address.connect() else {
      lastFailure = .system(.unreachable, "\(endpoint) cannot be reached", errno)
      tryNextAddress()
      return
    }
    descriptor = connecting
    guard watch([.write]) else { return }
    guard let share else { return }
    addressDeadline = loop.schedule(after: share) { [weak self] in
      guard let self, state == .connecting, descriptor == connecting else { return }
      lastFailure = TransportError(.timeout, "an address of \(endpoint) does not answer")
      tryNextAddress()
    }
  }

  private func connected() {
    addressDeadline?.cancel()
    if let clientContext {
      do {
        tls = try TLSSession(client: clientContext, host: endpoint.host)
      } catch {
        fail(TransportError(.tls, "no TLS to \(endpoint)", cause: error))
        return
      }
    }
    guard let tls else {
      opened()
      return
    }
    state = .securing
    do {
      try tls.handshake()
    } catch {
      fail(TransportError(.tls, "no TLS with \(endpoint)", cause: error))
      return
    }
    flush()
  }

  private func opened() {
    state = .open
    deadline?.cancel()
    deadline = nil
    setInterest([.read])
    delegate?.connectionOpened(self)
  }

  // MARK: closing

  /// Closes at once: what the socket has not taken is dropped, the delegate hears nothing more.
  package func close() {
    guard state != .closed else { return }
    if state == .open, let tls, pending.count == 0, tls.ciphertext.isEmpty {
      tls.finish()
      _ = sendToSocket(tls.ciphertext)
    }
    tearDown()
  }

  private func tearDown() {
    state = .closed
    delegate = nil
    deadline?.cancel()
    addressDeadline?.cancel()
    abandonDescriptor()
    pending.removeAll()
  }

  private func abandonDescriptor() {
    if let registration { loop.remove(registration) }
    registration = nil
    interest = []
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  private func fail(_ error: TransportError?) {
    guard state != .closed else { return }
    let listener = delegate
    tearDown()
    listener?.connectionClosed(self, error: error)
  }

  // MARK: writing

  /// Queues a copy of `bytes`; they leave at the end of this turn. Nothing happens on a closed connection.
  /// The queue has no bound of its own: the owner watches `pendingBytes`.
  package func write(_ bytes: UnsafeRawBufferPointer) {
    guard state != .closed, !bytes.isEmpty else { return }
    pending.append(bytes)
    guard !isFlushScheduled else { return }
    isFlushScheduled = true
    loop.atTurnEnd { [weak self] in
      self?.isFlushScheduled = false
      self?.flush()
    }
  }

  /// Sends now what the turn's end would send.
  package func flush() {
    guard state == .open || state == .securing else { return }
    let hadBytes = pendingBytes > 0
    guard drain(), state == .open || state == .securing else { return }
    setInterest(pendingBytes > 0 ? [.read, .write] : [.read])
    if hadBytes, pendingBytes == 0, state == .open { delegate?.connectionDrained(self) }
  }

  /// Returns false when the connection failed.
  private func drain() -> Bool {
    guard let tls else {
      guard let taken = sendToSocket(pending.bytes) else { return false }
      pending.consume(taken)
      return true
    }
    while true {
      if tls.ciphertext.isEmpty {
        guard state == .open, pending.count > 0 else { return true }
        do {
          // A bounded piece at a time: what is encrypted stands in memory twice.
          let piece = UnsafeRawBufferPointer(rebasing: pending.bytes.prefix(128 * 1024))
          try tls.send(piece)
          pending.consume(piece.count)
        } catch {
          fail(TransportError(.tls, "TLS with \(endpoint) broke", cause: error))
          return false
        }
      }
      let waiting = tls.ciphertext.count
      guard let taken = sendToSocket(tls.ciphertext) else { return false }
      tls.consume(taken)
      if taken < waiting { return true }
    }
  }

  /// How many bytes the socket took; nil when the connection failed.
  private func sendToSocket(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var sent = 0
    while sent < bytes.count {
      let count = send(
        descriptor, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
      if count >= 0 {
        sent += count
      } else if errno == EAGAIN {
        return sent
      } else if errno != EINTR {
        fail(.system(.reset, "\(endpoint) broke the connection", errno))
        return nil
      }
    }
    return sent
  }

  // MARK: reading

  private func readSocket() {
    // A few buffers at most, so that one busy peer does not hold up the loop.
    for _ in 0..<4 where state == .open || state == .securing {
      let count = recv(descriptor, loop.scratch.baseAddress, loop.scratch.count, 0)
      if count > 0 {
        let bytes = UnsafeRawBufferPointer(rebasing: loop.scratch[0..<count])
        guard received(bytes), count == loop.scratch.count else { return }
      } else if count == 0 {
        fail(state == .open ? nil : TransportError(.closedByPeer, "\(endpoint) closed at once"))
        return
      } else if errno == EAGAIN {
        return
      } else if errno != EINTR {
        fail(.system(.reset, "\(endpoint) broke the connection", errno))
        return
      }
    }
  }

  /// Returns false when there is nothing more to read on this connection.
  private func received(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let tls else {
      delegate?.connection(self, received: bytes)
      return state == .open
    }
    do {
      let wasSecuring = state == .securing
      if wasSecuring {
        // The handshake alone first, so that the delegate hears `opened` before the first bytes.
        let goesOn = try receiveHandshake(tls, bytes)
        return goesOn
      }
      let goesOn = try tls.receive(bytes) { plaintext in
        delegate?.connection(self, received: plaintext)
      }
      guard state == .open else { return false }
      if !tls.ciphertext.isEmpty { flush() }
      if !goesOn { fail(nil) }
      return state == .open
    } catch {
      // An alert of ours may tell the peer why.
      _ = sendToSocket(tls.ciphertext)
      fail(TransportError(.tls, "no TLS with \(endpoint)", cause: error))
      return false
    }
  }

  private func receiveHandshake(
    _ tls: TLSSession, _ bytes: UnsafeRawBufferPointer
  ) throws(TLSError) -> Bool {
    var early: [[UInt8]] = []
    let goesOn = try tls.receive(bytes) { early.append(Array($0)) }
    flush()
    guard tls.isEstablished, state == .securing else { return state == .securing }
    opened()
    for piece in early {
      piece.withUnsafeBytes { delegate?.connection(self, received: $0) }
    }
    if !goesOn { fail(nil) }
    return state == .open
  }

  // MARK: the loop

  private func watch(_ wanted: Interest) -> Bool {
    do {
      registration = try loop.add(descriptor, wanted, self)
      interest = wanted
      return true
    } catch {
      fail(TransportError(.noDescriptors, "\(error)"))
      return false
    }
  }

  private func setInterest(_ wanted: Interest) {
    guard wanted != interest, let registration else { return }
    interest = wanted
    loop.change(registration, to: wanted)
  }
}

extension Connection: LoopHandler {
  package func descriptorReady(_ readiness: Interest) {
    switch state {
    case .connecting:
      let failure = Socket.pendingError(descriptor)
      guard failure == 0 else {
        lastFailure = .system(.unreachable, "\(endpoint) cannot be reached", failure)
        tryNextAddress()
        return
      }
      setInterest([.read])
      connected()
    case .securing, .open:
      if readiness.contains(.read) { readSocket() }
      if readiness.contains(.write) { flush() }
    case .idle, .resolving, .closed: return
    }
  }
}
