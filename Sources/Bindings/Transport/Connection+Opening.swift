import EventLoop
import Glibc
import TLS
import Text

extension Connection {
  package func connect() {
    guard state == .idle else { return }
    state = .resolving
    startDeadline()
    let server = options.proxy?.endpoint ?? endpoint
    guard let lookUp = options.lookUp else {
      let handoff = LoopConfined(self)
      return Resolver.resolve(server, on: loop) { result in handoff.value?.resolved(result) }
    }
    loop.execute { [handoff = LoopConfined(self)] in handoff.value?.resolved(lookUp(server)) }
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
      // While an address is silent, it is not the one that failed before that is to blame.
      let failure = race?.failure.map { "; \($0.message)" } ?? ""
      fail(TransportError(.timeout, timeoutWords + failure))
    }
  }

  private var timeoutWords: String {
    let limit = DurationText.text(options.connectTimeout)
    guard state == .tunnelling, let proxy = options.proxy else {
      return "\(endpoint) gave no connection in \(limit)"
    }
    return "the proxy \(proxy.endpoint) gave no way to \(endpoint) in \(limit)"
  }

  private func resolved(_ result: Result<[SocketAddress], TransportError>) {
    guard state == .resolving else { return }
    switch result {
    case .failure(let error): fail(error)
    case .success(let found):
      state = .connecting
      let order = book?.order(found, at: loop.now) ?? AddressBook.interleaved(found)
      // It keeps the connection alive, as the loop does later.
      race = ConnectionRace(
        order, of: options.proxy?.endpoint ?? endpoint, options: options, book: book, loop: loop
      ) { self.raced($0) }
      race?.start()
    }
  }

  private func raced(_ outcome: ConnectionRace.Outcome) {
    race = nil
    switch outcome {
    case .failed(let error): fail(error)
    case .connected(let descriptor, let address):
      self.descriptor = descriptor
      self.address = address
      guard watch([.read]) else { return }
      if let proxy = options.proxy { ask(proxy) } else { connected() }
    }
  }

  private func ask(_ proxy: HTTPProxy) {
    let tunnel = ProxyTunnel(through: proxy, to: endpoint)
    self.tunnel = tunnel
    state = .tunnelling
    // Some hundred bytes, which an empty socket takes whole.
    let request = tunnel.request
    let sent = request.withUnsafeBytes { sendToSocket($0) }
    if let sent, sent < request.count {
      fail(TransportError(.proxy, "the proxy \(proxy.endpoint) takes no request"))
    }
  }

  /// Returns false when there is nothing more to read on this connection.
  func receiveTunnel(_ bytes: UnsafeRawBufferPointer) -> Bool {
    do {
      guard try tunnel?.receive(bytes) ?? true else { return true }
      tunnel = nil
      connected()
    } catch {
      fail(error)
    }
    return state == .securing || state == .open
  }

  func connected() {
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
    if let address { book?.answered(address) }
    deadline?.cancel()
    deadline = nil
    setInterest(pendingBytes > 0 ? [.read, .write] : [.read])
    delegate?.connectionOpened(self)
    // What was written before now, and the end of the handshake when the socket was full.
    if pendingBytes > 0 { flush() }
  }
}
