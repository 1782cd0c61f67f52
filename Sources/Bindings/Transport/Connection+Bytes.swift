import EventLoop
import Glibc
import TLS

extension Connection {
  // MARK: writing

  /// Queues a copy of `bytes`; they leave at the end of this turn. Nothing happens on a closed
  /// connection. The queue has no bound of its own: the owner watches `pendingBytes`.
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
    guard state == .open || state == .securing, writeFailure == nil else { return }
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
          let piece = UnsafeRawBufferPointer(rebasing: pending.bytes.prefix(largestPiece))
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

  /// How many bytes the socket took; nil when it takes none any more.
  func sendToSocket(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard let start = bytes.baseAddress else { return 0 }
    var sent = 0
    while sent < bytes.count {
      let count = send(descriptor, start + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
      if count >= 0 {
        sent += count
        sentBytes &+= UInt64(count)
      } else if errno == EAGAIN {
        return sent
      } else if errno != EINTR {
        failAfterReading(.system(.reset, "\(endpoint) broke the connection", errno))
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
      self?.readSocket()
      self?.fail(error)
    }
  }

  // MARK: reading

  func readSocket() {
    // A few buffers at most, so that one busy peer does not hold up the loop.
    for _ in 0..<4 where state == .open || state == .securing || state == .tunnelling {
      let count = recv(descriptor, loop.scratch.baseAddress, loop.scratch.count, 0)
      if count > 0 {
        let bytes = UnsafeRawBufferPointer(rebasing: loop.scratch[0..<count])
        guard received(bytes), count == loop.scratch.count else { return }
      } else if count == 0 {
        fail(state == .open ? nil : closedTooSoon)
        return
      } else if errno == EAGAIN {
        return
      } else if errno != EINTR {
        fail(.system(.reset, "\(endpoint) broke the connection", errno))
        return
      }
    }
  }

  private var closedTooSoon: TransportError {
    if state == .tunnelling, let proxy = options.proxy {
      return TransportError(.proxy, "the proxy \(proxy.endpoint) closed without an answer")
    }
    return TransportError(.closedByPeer, "\(endpoint) closed during the TLS handshake")
  }

  /// Returns false when there is nothing more to read on this connection.
  private func received(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard state != .tunnelling else { return receiveTunnel(bytes) }
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
      guard messageAllowance.covers(tls.messageCount, at: loop.now) else {
        fail(TransportError(.tls, "\(endpoint) floods us with messages of TLS' own"))
        return false
      }
      if !tls.ciphertext.isEmpty { flush() }
      if !goesOn { fail(nil) }
      return state == .open
    } catch {
      // An alert of ours may tell the peer why.
      if writeFailure == nil { _ = sendToSocket(tls.ciphertext) }
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
}
