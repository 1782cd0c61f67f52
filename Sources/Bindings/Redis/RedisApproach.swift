import EventLoop
import Transport

/// The way to a server: what is shown to it, who says where it is, and where to go on from a
/// replica. Of one connection, and confined to its loop.
struct RedisApproach {
  private let purpose: ConnectionPurpose
  private(set) var handshake: RedisHandshake
  /// Which server is the master, while sentinels are asked.
  var inquiry: RedisInquiry<Endpoint>?
  /// The server that is connected to.
  private(set) var endpoint: Endpoint?
  /// The addresses of the name, shared by the connections to it.
  let addresses = AddressBook()
  var search = MasterSearch()
  /// The step that comes next, in the place of a new beginning.
  var step: MasterSearch.Step?

  init(_ options: RedisOptions, _ purpose: ConnectionPurpose) {
    self.purpose = purpose
    handshake = RedisHandshake(options, purpose)
  }

  /// The name of a sentinel has no address yet.
  var isResolving: Bool { inquiry?.isResolving == true }

  /// Replicas are not looked for elsewhere where somebody else says who the master is.
  func searches(_ options: RedisOptions) -> Bool {
    if case .onlyServer = purpose { options.sentinel == nil } else { false }
  }

  /// - Parameter options: with what is shown to the server now.
  mutating func begin(to endpoint: Endpoint, _ options: RedisOptions) {
    self.endpoint = endpoint
    handshake = RedisHandshake(options, purpose)
  }

  mutating func cancel() {
    inquiry?.cancel()
    inquiry = nil
  }
}

extension RedisConnection {
  /// Why commands would wait now; nil: the server has answered on the connection that there is.
  var obstacle: RedisError? {
    guard session.state != .ready else { return nil }
    return session.lastFailure ?? pending
  }

  /// The server's name, or a sentinel's, has no address yet.
  var isResolving: Bool { connection?.isResolving == true || approach.isResolving }

  /// How far the first attempt is.
  var pending: RedisError {
    let step =
      isResolving
      ? "DNS has not said yet where \(approach.endpoint?.host ?? options.host) is"
      : "it has not answered yet"
    return RedisError(.unavailable, "\(options.name): \(step)")
  }

  /// A new attempt, or the next step of the one that has met a replica.
  func connect() {
    let step = approach.step
    approach.step = nil
    if step == nil { approach.search = MasterSearch() }
    if case .master(let master) = step { return connect(toMaster: master) }
    guard let sentinel = options.sentinel else { return connect(to: options.endpoint) }
    let inquiry = RedisInquiry(
      sentinel.question, of: sentinel.nodes, options.toSentinels, loop, log, random)
    approach.inquiry = inquiry
    inquiry.start { [weak self] result in
      self?.approach.inquiry = nil
      switch result {
      case .success(let master): self?.connect(to: master)
      case .failure(let failure): self?.handle(.lost(failure))
      }
    }
  }

  private func connect(to endpoint: Endpoint) {
    open(endpoint, options.refreshed(log), approach.addresses)
  }

  /// To an address that a replica has named. A certificate is for the name that we were told, not
  /// for an address that the replica knows.
  private func connect(toMaster master: Endpoint) {
    var fresh = options.refreshed(log)
    var endpoint = master
    if fresh.tls != nil, case .success = Resolver.numeric(master),
      case .failure = Resolver.numeric(options.endpoint)
    {
      fresh.names = NameResolver { _ in Resolver.numeric(master) }
      endpoint = Endpoint(host: options.host, port: master.port)
    }
    open(endpoint, fresh, nil)
  }

  private func open(_ endpoint: Endpoint, _ fresh: RedisOptions, _ addresses: AddressBook?) {
    approach.begin(to: endpoint, fresh)
    let connection = fresh.connection(to: endpoint, loop, addresses, delegate: self)
    self.connection = connection
    connection.connect()
  }

  /// Whether there is another server to try in the place of this one, which is a replica.
  func goElsewhere(_ role: RedisRole, _ obstacle: RedisError) -> Bool {
    guard approach.searches(options) else { return false }
    connection?.avoidAddress()
    approach.step = approach.search.step(
      after: role, obstacle, addressCount: connection?.addressCount ?? 1)
    return approach.step != nil
  }
}

/// Where to go on when a name led to a replica: to the name's other addresses, one after the other,
/// and then to the master that a replica has named. Pure.
struct MasterSearch {
  enum Step: Equatable {
    /// The name again: its other addresses come first now.
    case nextAddress
    case master(Endpoint)
  }

  /// A name that leads to more is a mistake, or an attack.
  static let maximumAddresses = 16
  /// A replica may follow a replica. More in a row are a circle.
  static let maximumMasters = 3

  private var replicas = 0
  private var masters = 0
  /// The first replica's error, and the last master that a replica named.
  private(set) var obstacle: RedisError?
  private(set) var master: Endpoint?

  /// - Parameters:
  ///   - role: what the server says that was reached last.
  ///   - addressCount: of the name.
  /// - Returns: nil when it is no replica, or there is nowhere else to go.
  mutating func step(after role: RedisRole, _ obstacle: RedisError, addressCount: Int) -> Step? {
    guard case .replica(let named) = role else { return nil }
    self.obstacle = self.obstacle ?? obstacle
    replicas += 1
    if masters == 0, replicas < min(addressCount, Self.maximumAddresses) { return .nextAddress }
    guard masters < Self.maximumMasters, let endpoint = Self.endpoint(named) else { return nil }
    masters += 1
    master = endpoint
    return .master(endpoint)
  }

  /// Of `host:port`, as ROLE gives them.
  private static func endpoint(_ text: String) -> Endpoint? {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (1...65_535).contains(port)
    else { return nil }
    let host = String(text[..<colon])
    return host.isEmpty || host == "?" ? nil : Endpoint(host: host, port: port)
  }

  /// Why there is no connection, when the last of them was lost.
  func failure(_ error: RedisError) -> RedisError {
    guard let obstacle else { return error }
    return RedisError(obstacle.code, obstacle.message, cause: "its master: \(error)")
  }
}
