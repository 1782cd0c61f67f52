import EventLoop
import Glibc
import TLS
import Text

extension Connection {
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
      fail(
        lastFailure
          ?? TransportError(
            .timeout, "\(endpoint) gave no connection in " + DurationText.text(limit)))
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

  func tryNextAddress() {
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
    guard let connecting = address.connect(options) else {
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

  func connected() {
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

  func opened() {
    state = .open
    deadline?.cancel()
    deadline = nil
    setInterest(pendingBytes > 0 ? [.read, .write] : [.read])
    delegate?.connectionOpened(self)
    // What was written before now, and the end of the handshake when the socket was full.
    if pendingBytes > 0 { flush() }
  }
}
