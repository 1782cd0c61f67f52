import EventLoop
import Model
import Transport

/// The things that all parts of a route work with: where it goes to and how, its lane's loop and
/// chance, its queue, and what is known of its server.
final class RouteContext {
  let destination: Destination
  /// As `PushBatch.Entry.route` says it.
  let number: UInt16
  /// The server, where the platform has many.
  private let origin: String?
  let target: RouteTarget
  let account: any PlatformAccount
  let options: DeliverOptions
  let loop: EventLoop
  /// Any number, each time another; one source for all routes of a lane.
  let chance: () -> UInt64
  let signals: RouteSignals
  let queue: FairQueue
  let traffic: RouteTraffic
  let openness: RouteOpenness
  let obstacles: RouteObstacles
  /// Connections are spread over all addresses of the host.
  private let addresses: AddressBook

  /// - Parameter name: by which operators know the credentials, or nil.
  init(
    number: UInt16, destination: Destination, service: PushService, name: String?,
    origin: String? = nil, options: DeliverOptions, loop: EventLoop,
    chance: @escaping () -> UInt64
  ) {
    var options = options
    if let own = service.target.connections {
      options.connectionsPerRoute = own.usual
      options.mostConnectionsPerRoute = own.most
      options.streamsPerConnection = own.streams
    }
    self.destination = destination
    self.number = number
    self.origin = origin
    target = service.target
    account = service.account
    self.options = options
    self.loop = loop
    self.chance = chance
    signals = RouteSignals(loop: loop)
    queue = FairQueue(route: number)
    traffic = RouteTraffic(options)
    let silence = service.target.interface?.silence ?? .zero
    openness = RouteOpenness(
      closedAfter: options.closedAfter.nanoseconds,
      stalledAfter: (options.stalledAfter + silence).nanoseconds,
      silentAfter: (options.requestTimeout + silence).nanoseconds)
    obstacles = RouteObstacles(
      destination: destination,
      credentials: origin.map { (name.map { "\($0), " } ?? "") + $0 } ?? name, options: options,
      queue: queue)
    addresses = AddressBook(firstTurn: Int(chance() & 0xFFFF))
  }

  /// The first destination of its platform: most pushes go there. Never one of many servers.
  var isFirst: Bool {
    origin == nil && Destination.all(of: destination.platform).first == destination
  }

  /// By which notices name it.
  var server: PushServer { PushServer(destination, target.endpoint) }

  func report(_ notice: DeliverNotice) { options.report(notice) }

  /// Another connection to the route's server; `connect` starts it.
  /// - Parameters:
  ///   - shown: the credentials that it presents in the TLS handshake.
  ///   - protocols: offered there (ALPN); nil: the target's.
  func makeTransport(
    _ delegate: any ConnectionDelegate, _ shown: any ShownCredentials,
    offering protocols: [String]? = nil
  ) -> Connection {
    let protocols = protocols ?? target.applicationProtocols
    var transport = target.transport(connectTimeout: options.connectTimeout)
    if target.mayUseHTTP1 { transport.applicationProtocols = protocols }
    return Connection(
      to: target.endpoint, tls: shown.security(over: protocols) ?? target.tls, options: transport,
      addresses: addresses, loop: loop, delegate: delegate)
  }
}

/// Calls of a route's parts to the whole. None is made for each push.
final class RouteSignals {
  private let loop: EventLoop
  private var isPumpScheduled = false
  private var isStopped = false
  /// Called at the end of a turn in which it was asked for.
  var pump: () -> Void = {}
  /// Called when pushes may have left the queues, or need no longer be waited for.
  var whenReadyMayHaveShrunk: () -> Void = {}
  /// Called when the route may have opened or closed.
  var whenOpennessMayHaveChanged: () -> Void = {}

  init(loop: EventLoop) { self.loop = loop }

  func schedulePump() {
    guard !isPumpScheduled, !isStopped else { return }
    isPumpScheduled = true
    loop.atTurnEnd { [weak self] in
      self?.isPumpScheduled = false
      self?.pump()
    }
  }

  func stop() { isStopped = true }
}
