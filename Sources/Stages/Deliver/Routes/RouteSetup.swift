import EventLoop
import Model
import Transport

/// What the parts of a route have in common: where it goes to and how, its lane's loop and its
/// chance.
final class RouteSetup {
  let destination: Destination
  let target: RouteTarget
  let account: any PlatformAccount
  /// What operators know the credentials by; nil where there are no others.
  let credentialsName: String?
  let options: DeliverOptions
  let loop: EventLoop
  /// Any number, each time another; one source for all routes of a lane.
  let chance: () -> UInt64
  /// Connections are spread over all addresses of the host.
  private let addresses: AddressBook

  init(
    destination: Destination, target: RouteTarget, credentials: AppCredentials.Item,
    options: DeliverOptions, loop: EventLoop, chance: @escaping () -> UInt64
  ) {
    self.destination = destination
    self.target = target
    account = credentials.account
    credentialsName = credentials.name
    self.options = options
    self.loop = loop
    self.chance = chance
    addresses = AddressBook(firstTurn: Int(chance() & 0xFFFF))
  }

  /// Of its platform's destinations the first: most pushes go there.
  var isFirst: Bool {
    Destination.all.first { $0.platform == destination.platform } == destination
  }

  /// How long a push that is taken has no answer for want of any.
  var silence: Duration { target.interface?.silence ?? .zero }

  /// Another connection to the route's server; `connect` starts it.
  /// - Parameter shown: what it shows the server.
  func makeTransport(
    _ delegate: any ConnectionDelegate, _ shown: any ShownCredentials
  ) -> Connection {
    Connection(
      to: target.endpoint, tls: shown.security(over: target.applicationProtocols) ?? target.tls,
      options: target.transport(connectTimeout: options.connectTimeout), addresses: addresses,
      loop: loop, delegate: delegate)
  }
}
