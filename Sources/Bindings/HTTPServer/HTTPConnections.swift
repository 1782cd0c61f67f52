import EventLoop
import TLS
import Transport

/// The connections of a server: admits them, and closes some for others. Confined to its loop.
final class HTTPConnections {
  let loop: EventLoop
  let options: HTTPServerOptions
  let screen: (HTTPRequest) -> HTTPScreening
  private let listener: HTTPListener
  private let transportOptions: TransportOptions
  /// Gets each request with a number for `respond`; must not call back at once.
  private let whenComplete: (Int, HTTPRequest) -> Void
  /// The certificate for new connections.
  private var tls: TLSServerContext?
  private var connections: [Int: HTTPConnection] = [:]
  /// Connections whose requests await our answers, by their numbers.
  private var waiting: [Int: HTTPConnection] = [:]
  /// Connections whose answers go on, by the numbers of their requests.
  private var streams: [Int: HTTPConnection] = [:]
  /// Of all bodies that are kept.
  private var bodyBytes = 0
  /// Nobody else comes: each connection ends with the response to its request.
  private(set) var isRetiring = false
  /// Somebody waits in the kernel until a connection may go.
  private var isWaitedFor = false
  private var lastTick = 0

  /// Connections that are read before one of them is closed.
  private static let asked = 8

  init(
    loop: EventLoop, options: HTTPServerOptions, listener: HTTPListener,
    screen: @escaping (HTTPRequest) -> HTTPScreening,
    whenComplete: @escaping (Int, HTTPRequest) -> Void
  ) throws(HTTPServerError) {
    self.loop = loop
    self.options = options
    self.listener = listener
    self.screen = screen
    self.whenComplete = whenComplete
    transportOptions = TransportOptions(connectTimeout: options.exchangeTimeout)
    tls = try options.identity.map { (identity) throws(HTTPServerError) in
      try Self.context(identity)
    }
    listener.whenSomebodyWaits = { [weak self] in self?.admit() }
    listener.resume()
  }

  private static func context(
    _ identity: HTTPServerIdentity
  ) throws(HTTPServerError) -> TLSServerContext {
    do {
      return try TLSServerContext(
        identity: identity.privateKey + "\n" + identity.certificates, alpn: ["http/1.1"])
    } catch {
      throw HTTPServerError(description: error.message)
    }
  }

  /// Shows another certificate to who comes. Connections that are open end with the response to the
  /// next request.
  func show(_ identity: HTTPServerIdentity) throws(HTTPServerError) {
    tls = try Self.context(identity)
    for connection in connections.values { connection.isLast = true }
  }

  /// Streams end with their farewells.
  func retire() {
    isRetiring = true
    for connection in Array(streams.values) {
      connection.outgoing?.stream.end()
      connection.pump()
    }
  }

  /// A request is here whose response has not left.
  var isBusy: Bool { connections.values.contains { $0.isBusy } }

  /// Closes everything but the listener. Nothing is called afterwards.
  func stop() {
    listener.whenSomebodyWaits = {}
    for connection in connections.values { connection.stop() }
  }

  func respond(to number: Int, _ response: HTTPResponse) {
    // The client may have gone meanwhile.
    guard let connection = waiting.removeValue(forKey: number) else {
      response.stream?.over()
      return
    }
    connection.respond(response)
  }

  /// The stream that answers a request has something to write.
  func pump(_ number: Int) { streams[number]?.pump() }

  // MARK: what connections say

  func nextTick() -> Int {
    lastTick += 1
    return lastTick
  }

  func handOn(_ number: Int, _ request: HTTPRequest, from connection: HTTPConnection) {
    waiting[number] = connection
    whenComplete(number, request)
  }

  var streamCount: Int { streams.count }
  func streamBegins(_ number: Int, _ connection: HTTPConnection) { streams[number] = connection }
  func streamEnded(_ number: Int) { streams.removeValue(forKey: number) }

  /// Whether there is room for so much more of a body.
  func keep(_ bytes: Int) -> Bool {
    bodyBytes += bytes
    guard let limit = options.maximumBodiesBytes, bodyBytes > limit else { return true }
    bodyBytes -= bytes
    return false
  }

  /// An exchange is over.
  func forget(_ number: Int, bodyBytes: Int) {
    waiting.removeValue(forKey: number)
    self.bodyBytes -= bodyBytes
  }

  func ended(_ connection: HTTPConnection, bodyBytes: Int) {
    connections.removeValue(forKey: connection.number)
    forget(connection.exchange, bodyBytes: bodyBytes)
    becameQuiet()
  }

  /// Somebody has gone, or may go.
  func becameQuiet() {
    guard isWaitedFor else { return }
    isWaitedFor = false
    listener.resume()
  }

  // MARK: who comes

  private var hasCapacity: Bool { connections.count < options.maximumConnections }

  /// Somebody waits. When there is no room, another goes for the first of them.
  private func admit() {
    if !hasCapacity { evictOne() }
    // Bounded per turn, so that a storm of connections does not stop those that are there.
    for _ in 0..<64 where hasCapacity {
      switch listener.next() {
      case .client(let descriptor, let peer): admit(descriptor, from: peer)
      case .nobody: return
      case .noDescriptors: return listener.pause()
      }
    }
  }

  private func admit(_ descriptor: Int32, from peer: PeerAddress) {
    let session: TLSSession?
    do {
      session = try tls.map { (context) throws(TLSError) in try TLSSession(server: context) }
    } catch {
      return HTTPListener.refuse(descriptor)
    }
    let transport = Connection(
      accepted: descriptor, tls: session, options: transportOptions, loop: loop,
      from: Endpoint(host: "client", port: listener.port))
    let connection = HTTPConnection(nextTick(), transport, from: peer, of: self)
    connections[connection.number] = connection
    connection.begin()
  }

  private func evictOne() {
    // Requests that arrived in this very turn were not read yet.
    for _ in 0..<Self.asked where !hasCapacity {
      guard let connection = leavingFirst else { break }
      connection.readNow()
      guard connection.mayGo else { continue }
      connection.close()
      return
    }
    guard !hasCapacity else { return }
    isWaitedFor = true
    listener.pause()
  }

  private var leavingFirst: HTTPConnection? {
    let candidates = connections.filter { $0.value.mayGo }
      .mapValues { Leaving.Candidate(peer: $0.peer, quietSince: $0.quietSince) }
    return Leaving.first(of: candidates).flatMap { connections[$0] }
  }
}

/// Which connection is closed when somebody else comes and there is no room. Pure.
enum Leaving {
  struct Candidate {
    let peer: PeerAddress
    /// Counts up over all connections: when it came, or when its last exchange ended.
    let quietSince: Int
  }

  /// The one that has been quiet for longest, of the client that has the most: one client that
  /// takes all it can get takes it from itself. nil when there is none.
  static func first<Key>(of candidates: [Key: Candidate]) -> Key? {
    var counts: [PeerAddress: Int] = [:]
    for candidate in candidates.values { counts[candidate.peer, default: 0] += 1 }
    let most = counts.values.max()
    return candidates.filter { counts[$0.value.peer] == most }
      .min { $0.value.quietSince < $1.value.quietSince }?.key
  }
}
