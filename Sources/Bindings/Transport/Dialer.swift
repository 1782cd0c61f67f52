import CLinux
import EventLoop
import Glibc
import Text

/// The way to a server, up to the first byte that is meant for it: the addresses of its name, the
/// race between them, and the proxy, where one is between. Confined to its loop. Each name has a
/// time of its own; what follows is bounded by the connection's deadline.
final class Dialer {
  enum Outcome {
    /// The descriptor is the receiver's from now on, and is not watched.
    case connected(Int32)
    case failed(TransportError)
  }

  /// Whose name is looked up.
  private enum Name { case server, proxy }

  private let endpoint: Endpoint
  private let options: TransportOptions
  private let book: AddressBook?
  private let loop: EventLoop
  private var race: ConnectionRace?
  /// To whom it is connected, or is about to be: the proxy, where one is between that finds the
  /// server by itself.
  private(set) var address: SocketAddress?
  private var lookedUp = Name.server
  /// The server's address that the proxy is asked for; nil: it is asked for the name.
  private var tunnelled: SocketAddress?
  /// How many the name leads to.
  private(set) var addressCount = 0
  private var tunnel: ProxyTunnel?
  /// Of the connection to the proxy, while that is asked.
  private var descriptor: Int32 = -1
  private var registration: Registration?
  private var whenOver: ((Outcome) -> Void)?
  private var whenResolved: (() -> Void)?
  private var resolveTimer: LoopTimer?

  /// - Parameter book: what all connections to this host share.
  init(to endpoint: Endpoint, options: TransportOptions, book: AddressBook?, loop: EventLoop) {
    self.endpoint = endpoint
    self.options = options
    self.book = book
    self.loop = loop
  }

  deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

  /// - Parameters:
  ///   - whenResolved: called before the first address is tried.
  ///   - whenOver: called once, unless it is cancelled before; kept until then.
  func start(whenResolved: @escaping () -> Void, whenOver: @escaping (Outcome) -> Void) {
    self.whenOver = whenOver
    self.whenResolved = whenResolved
    lookUp(options.proxy == nil || options.refusesAddress != nil ? .server : .proxy)
  }

  private func lookUp(_ name: Name) {
    lookedUp = name
    let server = name == .proxy ? options.proxy?.endpoint ?? endpoint : endpoint
    let handoff = LoopConfined(self)
    if case .success(let addresses) = Resolver.numeric(server) {
      return loop.execute { handoff.value?.resolved(.success(addresses)) }
    }
    let late = TransportError(
      .unresolved,
      "DNS gave no address of \(server.host) within \(DurationText.text(options.resolveTimeout)): "
        + "are the nameservers of /etc/resolv.conf alive?")
    resolveTimer = loop.schedule(after: options.resolveTimeout) { [weak self] in
      self?.resolved(.failure(late))
    }
    options.names.resolve(server, on: loop) { result in handoff.value?.resolved(result) }
  }

  /// A name on the way has no address yet.
  var isResolving: Bool { whenResolved != nil }

  func cancel() {
    whenOver = nil
    end()
  }

  /// Addresses that are asked and have not answered.
  var pending: Int { race?.pending ?? 0 }

  /// Why there is no connection after `limit`.
  func lateness(_ limit: String) -> TransportError {
    if registration != nil, let proxy = options.proxy {
      return TransportError(
        .timeout, "the proxy \(proxy.endpoint) gave no way to \(endpoint) in \(limit)")
    }
    // While an address is silent, it is not the one that failed before that is to blame.
    let failure = race?.failure.map { "; \($0.message)" } ?? ""
    return TransportError(.timeout, "\(endpoint) gave no connection in \(limit)\(failure)")
  }

  private func resolved(_ result: Result<[SocketAddress], TransportError>) {
    // The resolver keeps an answer that comes after the end, or after the time for it.
    guard whenOver != nil, whenResolved != nil else { return }
    resolveTimer?.cancel()
    switch result {
    case .failure(let error): finish(.failed(error))
    case .success(let all):
      let found = all.filter(mayConnect)
      guard !found.isEmpty || all.isEmpty else { return finish(.failed(refusal(of: all.count))) }
      if tunnelled == nil { addressCount = found.count }
      guard options.proxy != nil, lookedUp == .server else { return connect(to: found) }
      guard let first = ordered(found).first else {
        return finish(.failed(TransportError(.unresolved, "\(endpoint) has no address")))
      }
      tunnelled = first
      lookUp(.proxy)
    }
  }

  /// In the order to try them.
  private func ordered(_ found: [SocketAddress]) -> [SocketAddress] {
    book?.order(found, at: loop.now) ?? AddressBook.interleaved(found)
  }

  private func connect(to found: [SocketAddress]) {
    let whenResolved = whenResolved
    endResolving()
    whenResolved?()
    // A book knows addresses of one host alone: the server's, where these were looked up.
    let isOfServer = tunnelled != nil
    race = ConnectionRace(
      isOfServer ? AddressBook.interleaved(found) : ordered(found),
      of: options.proxy?.endpoint ?? endpoint, options: options, book: isOfServer ? nil : book,
      loop: loop
    ) { [weak self] in self?.raced($0) }
    race?.start()
  }

  /// The proxy's own address is the operator's choice, and is not asked about.
  private func mayConnect(to address: SocketAddress) -> Bool {
    guard let refuses = options.refusesAddress, lookedUp == .server else { return true }
    guard let bytes = address.networkBytes else { return false }
    return !refuses(bytes)
  }

  private func refusal(of count: Int) -> TransportError {
    TransportError(
      .refusedAddress,
      "\(endpoint) was not asked: \(count == 1 ? "its address" : "each of its \(count) addresses")"
        + " is one that must not be connected to, as those of private networks are")
  }

  private func raced(_ outcome: ConnectionRace.Outcome) {
    race = nil
    switch outcome {
    case .failed(let error): finish(.failed(error))
    case .connected(let descriptor, let address):
      self.address = tunnelled ?? address
      guard let proxy = options.proxy else { return finish(.connected(descriptor)) }
      self.descriptor = descriptor
      ask(proxy)
    }
  }

  private func finish(_ outcome: Outcome) {
    let whenOver = whenOver
    self.whenOver = nil
    end()
    whenOver?(outcome)
  }

  private func endResolving() {
    whenResolved = nil
    resolveTimer?.cancel()
    resolveTimer = nil
  }

  private func end() {
    endResolving()
    race?.cancel()
    race = nil
    stopWatching()
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  private func stopWatching() {
    if let registration { loop.remove(registration) }
    registration = nil
  }

  // MARK: the proxy

  private func ask(_ proxy: HTTPProxy) {
    do {
      registration = try loop.add(descriptor, [.read], self)
    } catch {
      return finish(.failed(TransportError(.noDescriptors, "\(error)")))
    }
    let target = tunnelled.map { Endpoint(host: $0.host, port: endpoint.port) } ?? endpoint
    let tunnel = ProxyTunnel(through: proxy, to: target)
    self.tunnel = tunnel
    // Some hundred bytes, which an empty socket takes whole.
    let request = tunnel.request
    let sent = request.withUnsafeBytes {
      send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
    guard sent < request.count else { return }
    finish(.failed(TransportError(.proxy, "the proxy \(proxy.endpoint) takes no request")))
  }

  private var proxyName: String { options.proxy.map { "the proxy \($0.endpoint)" } ?? "" }

  private func readAnswer() {
    let count = recv(descriptor, loop.scratch.baseAddress, loop.scratch.count, 0)
    if count > 0 {
      received(UnsafeRawBufferPointer(rebasing: loop.scratch[0..<count]))
    } else if count == 0 {
      finish(.failed(TransportError(.proxy, "\(proxyName) closed without an answer")))
    } else if errno != EAGAIN, errno != EINTR {
      // The server behind it has not been asked yet, and is not to blame.
      finish(.failed(.system(.proxy, "\(proxyName) broke the connection", errno)))
    }
  }

  private func received(_ bytes: UnsafeRawBufferPointer) {
    do throws(TransportError) {
      guard try tunnel?.receive(bytes) ?? false else { return }
    } catch {
      return finish(.failed(error))
    }
    let descriptor = descriptor
    stopWatching()
    self.descriptor = -1
    finish(.connected(descriptor))
  }
}

extension Dialer: LoopHandler {
  func descriptorReady(_ readiness: Interest) { if registration != nil { readAnswer() } }
}

/// Carries an object of a loop through code of another thread, which must not look at it.
///
/// Unchecked: `value` is read on the object's own loop alone, where the resolver brings it back.
struct LoopConfined<Value: AnyObject>: @unchecked Sendable {
  weak var value: Value?

  init(_ value: Value) { self.value = value }
}

/// Asks a proxy for the way, before the server behind it gets anything: a pure machine.
package struct ProxyTunnel {
  /// Of its answer's heads; a page that explains a refusal is not read.
  static let maximumHeadBytes = 16 * 1024

  private let proxy: HTTPProxy
  private let target: Endpoint
  private var head: [UInt8] = []
  /// Behind the 1xx heads that have come.
  private var start = 0
  private var scanned = 0
  /// In a row, up to there.
  private var lineFeeds = 0

  package init(through proxy: HTTPProxy, to target: Endpoint) {
    self.proxy = proxy
    self.target = target
  }

  var request: [UInt8] {
    var lines = ["CONNECT \(target) HTTP/1.1", "Host: \(target)"]
    if let authorization = proxy.authorization {
      lines.append("Proxy-Authorization: \(authorization)")
    }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }

  /// - Returns: whether the way is open. Its answer is read to the end of the head; nothing may
  ///   follow, since the server does not speak first.
  package mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(TransportError) -> Bool {
    head.append(contentsOf: bytes.prefix(Self.maximumHeadBytes + 1 - head.count))
    while let end = nextEnd() {
      let status = try status(of: head[start..<end])
      // Another head follows these (RFC 9110, section 15.2).
      if status == 100 || (102..<200).contains(status) {
        start = end
        continue
      }
      guard (200..<300).contains(status) else { throw refusal(Self.words(status)) }
      guard head.count == end else { throw refusal("says more than it was asked") }
      return true
    }
    guard head.count <= Self.maximumHeadBytes else {
      throw refusal("answers with more than \(Self.maximumHeadBytes) bytes of header fields")
    }
    return false
  }

  private func status(of head: ArraySlice<UInt8>) throws(TransportError) -> Int {
    let line = String(decoding: head.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
    let words = line.split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3,
      let status = Int(words[1])
    else { throw refusal("does not speak HTTP") }
    return status
  }

  private func refusal(_ words: String) -> TransportError {
    TransportError(.proxy, "the proxy \(proxy.endpoint) \(words)")
  }

  private static func words(_ status: Int) -> String {
    switch status {
    case 403: "does not let us through to this host and port (403)"
    case 407: "wants a user's name and password, or others (407)"
    case 502, 503, 504: "cannot reach the server (\(status))"
    default: "answers \(status)"
    }
  }

  /// One past the next empty line; no byte is looked at twice.
  private mutating func nextEnd() -> Int? {
    while scanned < head.count {
      let byte = head[scanned]
      scanned += 1
      if byte == 0x0A {
        lineFeeds += 1
        guard lineFeeds == 2 else { continue }
        lineFeeds = 0
        return scanned
      }
      if byte != 0x0D { lineFeeds = 0 }
    }
    return nil
  }
}
