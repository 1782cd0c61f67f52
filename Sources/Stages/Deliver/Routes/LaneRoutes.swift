import Model

/// The routes of a lane, in the order in which they were made, so that work that goes through all
/// of them does not depend on how a table hashes. There is one for each destination and account of
/// its platform; of a platform with many servers (`PushServices`) one for each server, which is
/// made by the first push to it and ends a while after the last. Confined to its lane's loop.
final class LaneRoutes {
  /// Routes to servers of one account at most. Each has a connection or more.
  static let mostServers = 256
  /// `PushBatch.Entry.route` of a push that nothing leads to.
  static let none = UInt16.max
  /// The same of one for whose server there is no room now.
  static let noRoom = UInt16.max - 1

  /// The account of a platform that has many servers, and its routes.
  private final class Servers {
    let destination: Destination
    let services: any PushServices
    let name: String?
    var routes: [Server] = []
    var unopened = UnopenedServers()

    init(_ destination: Destination, _ services: any PushServices, _ name: String?) {
      self.destination = destination
      self.services = services
      self.name = name
    }
  }

  private struct Server {
    let origin: [UInt8]
    let route: Route
    /// Monotonic nanoseconds.
    var lastUsedAt: UInt64
    /// A connection was open on a former route.
    let isKnown: Bool

    /// Nobody knows yet whether there is such a server.
    var isOnTrial: Bool { !isKnown && !route.hasOpened }
  }

  private enum Way {
    case one(Route)
    case many(Servers)
  }

  private struct Name: Hashable {
    let destination: Destination
    /// An index into `AppCredentials.all`.
    let credentials: Int
  }

  typealias Make = (
    _ number: UInt16, _ destination: Destination, _ service: PushService, _ name: String?,
    _ origin: String?
  ) -> Route

  private(set) var all: [Route] = []
  private var byNumber: [UInt16: Route] = [:]
  /// The worker stops: also a route that is made now takes nothing.
  private var isLeaving = false
  private var ways: [Name: Way] = [:]
  private var servers: [Servers] = []
  private let options: DeliverOptions
  private let credentials: AppCredentials
  private let make: Make
  private var next: UInt16 = 0
  /// What the routes that have ended had counted, by platform.
  private var ended: [String: PlatformFigures] = [:]
  /// Hears of each route that is made after this was set.
  var whenMade: (Route) -> Void = { _ in }

  init(options: DeliverOptions, credentials: AppCredentials, make: @escaping Make) {
    self.options = options
    self.credentials = credentials
    self.make = make
    for destination in Destination.all {
      guard let target = options.routes[destination] else { continue }
      for (index, item) in credentials.all.enumerated()
      where item.platform == destination.platform.name {
        let name = Name(destination: destination, credentials: index)
        switch item.way {
        case .account(let account):
          let service = PushService(target: target, account: account)
          ways[name] = .one(add(destination, service, item.name, origin: nil))
        case .services(let services):
          servers.append(Servers(destination, services, item.name))
          ways[name] = .many(servers[servers.count - 1])
        }
      }
    }
  }

  /// The number is free: there are far fewer routes than numbers.
  private func add(
    _ destination: Destination, _ service: PushService, _ name: String?, origin: String?
  ) -> Route {
    while next >= Self.noRoom || byNumber[next] != nil {
      next = next >= Self.noRoom ? 0 : next + 1
    }
    let route = make(next, destination, service, name, origin)
    next += 1
    all.append(route)
    byNumber[route.number] = route
    if isLeaving { route.leave() }
    whenMade(route)
    return route
  }

  subscript(number: UInt16) -> Route? { byNumber[number] }

  /// Nothing more is sent, and pushes that come leave their segment.
  func leave() {
    isLeaving = true
    for route in all { route.leave() }
  }

  private func way(of topic: String, to destination: Destination) -> Way? {
    credentials.index(of: topic, on: destination.platform.name).flatMap {
      ways[Name(destination: destination, credentials: $0)]
    }
  }

  /// Those that pushes of a destination and topic take; of a platform with many servers all that
  /// there are.
  func find(_ route: PushRoute) -> [Route] {
    switch way(of: route.topic, to: route.destination) {
    case .one(let route): [route]
    case .many(let servers): servers.routes.map(\.route)
    case nil: []
    }
  }

  // MARK: batches

  /// Gives each push of a batch its route.
  /// - Returns: the numbers of these routes, each once, in the order of their making; whether any
  ///   push has none.
  func assign(_ batch: PushBatch, at now: UInt64) -> (routes: [UInt16], isComplete: Bool) {
    let topic = batch.headers.topic
    let ways = Destination.all.map { way(of: topic, to: $0) }
    let alike: [UInt16?] = ways.map {
      switch $0 {
      case .one(let route): route.number
      case .many: nil
      case nil: Self.none
      }
    }
    var isComplete = true
    var last: UInt16?
    var used: [UInt16] = []
    batch.setRoutes { entry in
      let index = Int(entry.destination.index)
      var number = alike[index] ?? Self.none
      if alike[index] == nil, case .many(let servers) = ways[index] {
        number = self.number(batch.bytes[entry.token], servers, used, now)
      }
      if number >= Self.noRoom {
        isComplete = false
      } else if number != last {
        last = number
        if !used.contains(number) { used.append(number) }
      }
      return number
    }
    return (used.sorted { place($0) < place($1) }, isComplete)
  }

  private func place(_ number: UInt16) -> Int {
    all.firstIndex { $0.number == number } ?? all.count
  }

  private func number(
    _ token: UnsafeRawBufferPointer, _ servers: Servers, _ used: [UInt16], _ now: UInt64
  ) -> UInt16 {
    guard let origin = servers.services.origin(in: token) else { return Self.none }
    let known = servers.routes.firstIndex {
      $0.origin.count == origin.count && $0.origin.elementsEqual(origin)
    }
    if let known {
      servers.routes[known].lastUsedAt = now
      return servers.routes[known].route.number
    }
    let bytes = Array(origin)
    guard !servers.unopened.rests(bytes, at: now) else { return turnAway(servers) }
    let text = String(decoding: bytes, as: UTF8.self)
    guard let target = options.routes[servers.destination], servers.services.allows(text) else {
      return Self.none
    }
    let isKnown = servers.unopened.hasOpened(bytes)
    guard isKnown || mayTry(servers, used, now),
      servers.routes.count < Self.mostServers || removeOldest(servers, used, now)
    else { return turnAway(servers) }
    guard let service = servers.services.service(at: text, target) else { return Self.none }
    let route = add(servers.destination, service, servers.name, origin: text)
    servers.routes.append(
      Server(origin: bytes, route: route, lastUsedAt: now, isKnown: isKnown))
    return route.number
  }

  /// The push leaves its segment and comes again later.
  private func turnAway(_ servers: Servers) -> UInt16 {
    ended[servers.destination.platform.name, default: PlatformFigures()].turnedAway += 1
    return Self.noRoom
  }

  /// Whether a server may be tried that no connection has been open to. One whose trial came to
  /// nothing is evicted for it.
  private func mayTry(_ servers: Servers, _ used: [UInt16], _ now: UInt64) -> Bool {
    servers.routes.count { $0.isOnTrial } < UnopenedServers.most
      || removeOldest(servers, used, now) { $0.isOnTrial && $0.route.cannotConnect }
  }

  // MARK: ends

  /// Ends routes to servers that have had no push for a while: an endpoint names its server, and
  /// whoever subscribes can name one that nobody else uses.
  func forget(at now: UInt64) {
    for servers in servers {
      for index in servers.routes.indices.reversed() {
        guard servers.routes[index].route.isUnused else {
          servers.routes[index].lastUsedAt = now
          continue
        }
        guard now &- servers.routes[index].lastUsedAt > Evidence.memory else { continue }
        remove(index, servers, wasEvicted: false, now)
      }
    }
  }

  /// - Parameters:
  ///   - used: routes that a batch is on its way to.
  ///   - mayEnd: of those that have no pushes.
  private func removeOldest(
    _ servers: Servers, _ used: [UInt16], _ now: UInt64,
    where mayEnd: (Server) -> Bool = { _ in true }
  ) -> Bool {
    let unused = servers.routes.indices.filter {
      servers.routes[$0].route.isUnused && !used.contains(servers.routes[$0].route.number)
        && mayEnd(servers.routes[$0])
    }
    guard
      let oldest = unused.min(by: {
        servers.routes[$0].lastUsedAt < servers.routes[$1].lastUsedAt
      })
    else { return false }
    remove(oldest, servers, wasEvicted: true, now)
    return true
  }

  private func remove(_ index: Int, _ servers: Servers, wasEvicted: Bool, _ now: UInt64) {
    let server = servers.routes.remove(at: index)
    let route = server.route
    servers.unopened.ended(
      server.origin, hasOpened: server.isKnown || route.hasOpened, wasEvicted: wasEvicted, at: now)
    all.removeAll { $0 === route }
    byNumber[route.number] = nil
    route.stop()
    route.endObstacles()
    ended[servers.destination.platform.name, default: PlatformFigures()].add(route.figures)
  }

  /// Of each platform that there are routes to, by its name.
  var figures: [String: PlatformFigures] {
    var figures = all.reduce(into: ended) {
      $0[$1.destination.platform.name, default: PlatformFigures()].add($1.figures)
    }
    for servers in servers {
      figures[servers.destination.platform.name, default: PlatformFigures()].serversOnTrial +=
        servers.routes.count { $0.isOnTrial }
    }
    return figures
  }
}
