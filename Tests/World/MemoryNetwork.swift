import EventLoop
import Glibc
import Transport

/// The network of a world: connections between its loops, with delays, cuts and silence. Endpoints
/// are told apart by host and port; names need no look-up.
///
/// Unchecked: confined to its world's thread.
package final class MemoryNetwork: Network, @unchecked Sendable {
  /// What the way to an endpoint is like for who connects to it.
  package struct Path: Sendable {
    /// One way, from the least to the most.
    package var delay: ClosedRange<Duration> = .microseconds(100) ... .microseconds(400)
    /// What one message in eight may take, so that others are through with much meanwhile; nil: no
    /// more than all.
    package var longest: Duration?
    /// Nobody takes the connection.
    package var isRefused = false
    /// Nothing is delivered, in either direction, and nobody is told.
    package var isSilent = false
    /// What is sent arrives in pieces of so many bytes at most.
    package var largestPiece = Int.max
    /// Bytes that may be under way in each direction.
    package var capacity = 256 * 1024
    /// Another name for an endpoint, with a way of its own; nil: the endpoint itself.
    package var leadsTo: Endpoint?

    package init() {}
  }

  /// What the sockets of an endpoint look at.
  final class Way {
    var path = Path() { didSet { readDelay() } }
    /// Its delay in nanoseconds.
    private(set) var least: UInt64 = 0
    private(set) var most: UInt64 = 0

    init() { readDelay() }

    private func readDelay() {
      least = path.delay.lowerBound.nanoseconds
      most = path.delay.upperBound.nanoseconds
    }
  }

  final class Place: NetworkListening {
    let endpoint: Endpoint
    let loop: EventLoop
    let accept: (any StreamSocket) -> Void
    private let network: MemoryNetwork

    init(
      _ endpoint: Endpoint, _ loop: EventLoop, _ network: MemoryNetwork,
      _ accept: @escaping (any StreamSocket) -> Void
    ) {
      self.endpoint = endpoint
      self.loop = loop
      self.network = network
      self.accept = accept
    }

    var port: Int { endpoint.port }
    func close() { network.places[endpoint] = nil }
  }

  let scheduler: WorldScheduler
  fileprivate var places: [Endpoint: Place] = [:]
  private var ways: [Endpoint: Way] = [:]
  /// In the order in which they were made; both ends of each.
  private var pairs: [(endpoint: Endpoint, client: MemorySocket, server: MemorySocket)] = []
  private var nextPort = 20_000

  package init(scheduler: WorldScheduler) { self.scheduler = scheduler }

  package func path(to endpoint: Endpoint) -> Path { way(to: endpoint).path }

  func way(to endpoint: Endpoint) -> Way {
    if let known = ways[endpoint] { return known }
    let way = Way()
    ways[endpoint] = way
    return way
  }

  /// From now on, for connections that are open, too.
  package func change(_ endpoint: Endpoint, _ change: (inout Path) -> Void) {
    let way = way(to: endpoint)
    change(&way.path)
    guard !way.path.isSilent else { return }
    for pair in pairs where pair.endpoint == endpoint {
      pair.client.deliver()
      pair.server.deliver()
    }
  }

  /// Breaks the connections to an endpoint, as a router does that forgets them.
  package func cut(_ endpoint: Endpoint) {
    forgetClosed()
    for pair in pairs where pair.endpoint == endpoint { pair.client.breakBoth(ECONNRESET) }
  }

  /// Nothing that is sent on the oldest open connection to an endpoint arrives any more, in either
  /// direction, as behind a router that has forgotten it.
  package func silenceOne(to endpoint: Endpoint) { silence(to: endpoint, atMost: 1) }

  /// The same of all that are open now.
  package func silenceAll(to endpoint: Endpoint) { silence(to: endpoint, atMost: .max) }

  private func silence(to endpoint: Endpoint, atMost count: Int) {
    forgetClosed()
    let heard = pairs.lazy.filter {
      $0.endpoint == endpoint && !$0.client.isClosed && !$0.client.isSilent
    }
    for pair in heard.prefix(count) {
      pair.client.isSilent = true
      pair.server.isSilent = true
    }
  }

  /// The kernel closes what a dead process had.
  package func closeAll(of loops: [EventLoop]) {
    for (endpoint, place) in places where loops.contains(where: { $0 === place.loop }) {
      places[endpoint] = nil
    }
    for pair in pairs {
      for socket in [pair.client, pair.server]
      where loops.contains(where: { $0 === socket.loop }) {
        socket.peer?.fail(ECONNRESET, after: delay(to: pair.endpoint))
        socket.abandon()
      }
    }
    forgetClosed()
  }

  package var openConnections: Int { pairs.count { !$0.client.isClosed || !$0.server.isClosed } }

  /// Forgets all that are connected, and who listens.
  func end() {
    for pair in pairs {
      pair.client.abandon()
      pair.server.abandon()
    }
    pairs = []
    places = [:]
  }

  private func forgetClosed() { pairs.removeAll { $0.client.isClosed && $0.server.isClosed } }

  func delay(to endpoint: Endpoint) -> Duration { delay(on: way(to: endpoint)) }

  func delay(on way: Way) -> Duration { .nanoseconds(Int64(nanoseconds(on: way))) }

  func nanoseconds(on way: Way) -> UInt64 {
    var most = way.most
    if let longest = way.path.longest, scheduler.number(below: 8) == 0 {
      most = longest.nanoseconds
    }
    return way.least + UInt64(scheduler.number(below: Int(most - way.least) + 1))
  }

  // MARK: Network

  package func connect(
    to endpoint: Endpoint, from loop: EventLoop,
    _ whenOver: @escaping (Result<any StreamSocket, TransportError>) -> Void
  ) {
    let delay = delay(to: endpoint)
    scheduler.schedule(after: delay) { [self] in
      let path = path(to: endpoint)
      // Whoever connects gives up by its own time-out, or is dead.
      if path.isSilent || scheduler.isKilled(loop) { return }
      let outcome: Result<any StreamSocket, TransportError>
      if let place = places[path.leadsTo ?? endpoint], !path.isRefused {
        outcome = .success(join(loop, place, endpoint))
      } else {
        outcome = .failure(
          TransportError(.unreachable, "\(endpoint) cannot be reached: Connection refused"))
      }
      scheduler.schedule(after: delay) { onLoop(loop) { whenOver(outcome) } }
    }
  }

  private func join(_ loop: EventLoop, _ place: Place, _ endpoint: Endpoint) -> MemorySocket {
    let client = MemorySocket(loop: loop, endpoint: endpoint, network: self)
    let server = MemorySocket(loop: place.loop, endpoint: endpoint, network: self)
    client.peer = server
    server.peer = client
    if pairs.count % 64 == 63 { forgetClosed() }
    pairs.append((endpoint, client, server))
    onLoop(place.loop) { place.accept(server) }
    return client
  }

  package func listen(
    at endpoint: Endpoint, on loop: EventLoop, _ accept: @escaping (any StreamSocket) -> Void
  ) throws(TransportError) -> any NetworkListening {
    var wanted = endpoint
    if wanted.port == 0 {
      wanted = Endpoint(host: wanted.host, port: nextPort)
      nextPort += 1
    }
    guard places[wanted] == nil else {
      throw TransportError(.cannotListen, "somebody listens on \(wanted)")
    }
    let place = Place(wanted, loop, self, accept)
    places[wanted] = place
    return place
  }
}

/// Runs `body` in a turn of the loop. All loops of a world have one thread.
func onLoop(_ loop: EventLoop, _ body: @escaping () -> Void) {
  nonisolated(unsafe) let body = body
  loop.execute { body() }
}
