import EventLoop
import TLS
import Text

/// The bytes of one connected socket, with TLS or without, there and back. Bytes that are written
/// in a turn leave at its end, in one system call where the socket allows. Its connection's, which
/// the loop keeps while the socket is watched. Confined to that loop.
final class ByteStream {
  enum State {
    /// Written bytes wait.
    case unconnected
    case securing, open, closed
  }

  private let endpoint: Endpoint
  private let loop: EventLoop
  /// Hears of everything from `start` to `close`.
  private unowned var connection: Connection?
  private(set) var state = State.unconnected
  private(set) var tls: TLSSession?
  private var messageAllowance = MessageAllowance()
  private(set) var socket: (any StreamSocket)?
  private var interest: Interest = []
  private var pending = ByteQueue()
  private var isFlushScheduled = false
  /// The first write error; reported after the received bytes were read.
  private var writeFailure: TransportError?
  /// The most that is encrypted at a time.
  var largestPiece = Connection.usualPiece
  private(set) var sentBytes: UInt64 = 0
  /// The most that is read at a time: so much may still come after `pauseReading`.
  var largestRead = Int.max
  var isReadingPaused = false { didSet { updateInterest() } }
  /// The peer writes nothing more; only where the connection goes on then.
  private var hasPeerFinished = false
  private var hasFinishedWriting = false

  init(with endpoint: Endpoint, loop: EventLoop) {
    self.endpoint = endpoint
    self.loop = loop
  }

  deinit {
    socket?.close()
    pending.deallocate()
  }

  /// A connected socket is this stream's from now on. Once, before `start`.
  func take(_ socket: any StreamSocket) { self.socket = socket }

  /// Watches the socket and begins with TLS, or is open at once without.
  func start(tls: TLSSession?, for connection: Connection) throws(TransportError) {
    self.tls = tls
    do {
      try socket?.watch([.read], connection)
    } catch {
      throw TransportError(.noDescriptors, "\(error)")
    }
    interest = [.read]
    self.connection = connection
    guard let tls else { return opened() }
    state = .securing
    do {
      try tls.handshake()
    } catch {
      throw TransportError(.tls, "no TLS with \(endpoint)", cause: error)
    }
    flush()
  }

  private func opened() {
    state = .open
    updateInterest()
    connection?.opened()
    // Bytes written before now, and the end of the handshake when the socket was full.
    if pendingBytes > 0 { flush() }
  }

  /// Drops bytes that the socket does not take now; then the peer reads an end.
  func finishWriting() {
    guard state == .open else { return }
    flush()
    guard state == .open else { return }
    pending.removeAll()
    finishTLS()
    hasFinishedWriting = true
    socket?.finishWriting()
  }

  /// Closes at once: what the socket has not taken is dropped.
  /// - Parameter isOrderly: TLS says so to the peer, where it has had all that was written.
  func close(isOrderly: Bool) {
    guard state != .closed else { return }
    if isOrderly, state == .open, pendingBytes == 0 { finishTLS() }
    state = .closed
    connection = nil
    socket?.close()
    socket = nil
    pending.removeAll()
  }

  private func finishTLS() {
    guard let tls else { return }
    tls.finish()
    _ = send(tls.ciphertext)
    tls.consume(tls.ciphertext.count)
  }

  /// Bytes that the socket has not taken yet.
  var pendingBytes: Int { pending.count + (tls?.ciphertext.count ?? 0) }

  /// Of `sentBytes`, those that the peer's host has acknowledged.
  var acknowledgedBytes: UInt64 {
    guard let unacknowledged = socket?.unacknowledgedBytes else { return 0 }
    return sentBytes - min(sentBytes, unacknowledged)
  }

  private func updateInterest() {
    var wanted: Interest = isReadingPaused || hasPeerFinished ? [] : [.read]
    if pendingBytes > 0 { wanted.insert(.write) }
    guard wanted != interest, let socket else { return }
    interest = wanted
    socket.change(to: wanted)
  }

  private func fail(_ error: TransportError?) { connection?.fail(error) }

  // MARK: writing

  func write(_ bytes: UnsafeRawBufferPointer) {
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
  func flush() {
    guard state == .open || state == .securing, writeFailure == nil else { return }
    let hadBytes = pendingBytes > 0
    guard drain(), state == .open || state == .securing else { return }
    updateInterest()
    if hadBytes, pendingBytes == 0, state == .open { connection?.drained() }
  }

  /// Returns false when the connection failed.
  private func drain() -> Bool {
    guard let tls else {
      guard let taken = send(pending.bytes) else { return false }
      pending.consume(taken)
      return true
    }
    while true {
      if tls.ciphertext.isEmpty {
        guard state == .open, pending.count > 0 else { return true }
        do {
          let piece = UnsafeRawBufferPointer(rebasing: pending.bytes.prefix(largestPiece))
          try tls.send(piece)
          pending.consume(piece.count)
        } catch {
          fail(TransportError(.tls, "TLS with \(endpoint) broke", cause: error))
          return false
        }
      }
      let waiting = tls.ciphertext.count
      guard let taken = send(tls.ciphertext) else { return false }
      tls.consume(taken)
      if taken < waiting { return true }
    }
  }

  /// How many bytes the socket took; nil when it takes none any more.
  private func send(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard let socket else { return bytes.isEmpty ? 0 : nil }
    var sent = 0
    while sent < bytes.count {
      switch socket.send(UnsafeRawBufferPointer(rebasing: bytes[sent...])) {
      case .bytes(let count):
        sent += count
        sentBytes &+= UInt64(count)
      case .wouldBlock: return sent
      case .failed(let number):
        failAfterReading(.system(.reset, "\(endpoint) broke the connection", number))
        return nil
      }
    }
    return sent
  }

  /// A server that closes may have answered before: the kernel still holds what it sent, and an
  /// answer that is thrown away is a request sent twice.
  private func failAfterReading(_ error: TransportError) {
    guard writeFailure == nil, state == .open || state == .securing else { return }
    writeFailure = error
    loop.schedule(after: .zero) { [weak self] in
      self?.read()
      self?.fail(error)
    }
  }

  func ready(_ readiness: Interest) {
    if readiness.contains(.read) {
      // Nobody asked: both directions have ended, or the connection is broken.
      guard interest.contains(.read) else {
        let broken = TransportError(.reset, "\(endpoint) broke the connection")
        return fail(hasFinishedWriting ? nil : broken)
      }
      read()
    }
    if readiness.contains(.write) { flush() }
  }

  // MARK: reading

  func read() {
    let most = min(loop.scratch.count, largestRead)
    // A few buffers at most, so that one busy peer does not hold up the loop.
    let buffer = UnsafeMutableRawBufferPointer(rebasing: loop.scratch[..<most])
    for _ in 0..<4 where isReading {
      guard let socket else { return }
      switch socket.receive(into: buffer) {
      case .bytes(0): return state == .open ? peerFinished() : fail(closedTooSoon)
      case .bytes(let count):
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        guard received(bytes), count == most else { return }
      case .wouldBlock: return
      case .failed(let number):
        return fail(.system(.reset, "\(endpoint) broke the connection", number))
      }
    }
  }

  private var isReading: Bool {
    (state == .open || state == .securing) && !isReadingPaused && !hasPeerFinished
  }

  private func peerFinished() {
    guard let connection, connection.outlivesPeersEnd, !hasFinishedWriting else { return fail(nil) }
    guard !hasPeerFinished else { return }
    hasPeerFinished = true
    updateInterest()
    connection.peerFinished()
  }

  private var closedTooSoon: TransportError {
    TransportError(.closedByPeer, "\(endpoint) closed during the TLS handshake")
  }

  /// Returns false when there is nothing more to read on this connection.
  private func received(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let tls else {
      connection?.received(bytes)
      return state == .open
    }
    do {
      // The handshake alone first, so that `opened` is heard before the first bytes.
      if state == .securing {
        let goesOn = try receiveHandshake(tls, bytes)
        return goesOn
      }
      let goesOn = try tls.receive(bytes) { connection?.received($0) }
      guard state == .open else { return false }
      guard messageAllowance.covers(tls.messageCount, at: loop.now) else {
        fail(TransportError(.tls, "\(endpoint) floods us with messages of TLS' own"))
        return false
      }
      if !tls.ciphertext.isEmpty { flush() }
      if !goesOn { peerFinished() }
      return state == .open
    } catch {
      // An alert of ours may tell the peer why.
      if writeFailure == nil { _ = send(tls.ciphertext) }
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
    for piece in early { piece.withUnsafeBytes { connection?.received($0) } }
    if !goesOn { peerFinished() }
    return state == .open
  }
}

/// How many messages of TLS' own a peer may send: handshake, tickets, changes of keys. They carry
/// nothing, so who is above TLS never hears of them; each costs us time, and an answer perhaps.
/// Servers send a few at the start and change keys after millions of records, if ever. Pure.
struct MessageAllowance {
  /// At once. A handshake takes up to ten, and some servers send a ticket with each answer at
  /// first.
  static let burst = 64

  private var seen = 0
  private var bucket = TokenBucket(tokens: Double(burst))

  /// - Parameters:
  ///   - total: messages since the connection began.
  ///   - now: monotonic nanoseconds.
  mutating func covers(_ total: Int, at now: UInt64) -> Bool {
    guard total != seen else { return true }
    bucket.fill(1, burst: Double(Self.burst), at: now)
    bucket.take(Double(total - seen))
    seen = total
    return bucket.tokens >= 0
  }
}

/// Bytes that wait for the socket, first in first out, in one buffer.
struct ByteQueue {
  private var storage: UnsafeMutableRawBufferPointer
  private var start = 0
  private var end = 0

  init(capacity: Int = 32 * 1024) { storage = .allocate(byteCount: capacity, alignment: 16) }

  /// The owner calls this once, when it goes.
  func deallocate() { storage.deallocate() }

  var count: Int { end - start }
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[start..<end]) }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    if end + more.count > storage.count { makeRoom(more.count) }
    UnsafeMutableRawBufferPointer(rebasing: storage[end..<end + more.count]).copyMemory(from: more)
    end += more.count
  }

  mutating func consume(_ taken: Int) {
    start += taken
    if start == end { removeAll() }
  }

  mutating func removeAll() {
    start = 0
    end = 0
  }

  private mutating func makeRoom(_ more: Int) {
    let used = count
    let needed = used + more
    if needed <= storage.count / 2 {
      storage.copyMemory(from: bytes)
    } else {
      let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: needed * 2, alignment: 16)
      grown.copyMemory(from: bytes)
      storage.deallocate()
      storage = grown
    }
    start = 0
    end = used
  }
}
