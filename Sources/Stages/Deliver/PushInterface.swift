import EventLoop
import Transport

/// How a server is spoken to that does not speak HTTP/2: its platform makes the connections.
package protocol PushInterface: Sendable {
  /// How long a push that is taken has no answer for want of any.
  var silence: Duration { get }
  /// What a TLS handshake offers (ALPN).
  var applicationProtocols: [String] { get }
  func makeConnection(_ route: ConnectionRoute) -> any PushConnection
}

/// A route as a connection of a `PushInterface` sees it. Confined to the lane's loop.
package final class ConnectionRoute {
  private let setup: RouteSetup
  private unowned let pool: ConnectionPool
  private let judge: AnswerJudge
  private let signals: RouteSignals

  init(_ setup: RouteSetup, pool: ConnectionPool, judge: AnswerJudge, signals: RouteSignals) {
    self.setup = setup
    self.pool = pool
    self.judge = judge
    self.signals = signals
  }

  package var loop: EventLoop { setup.loop }
  package var options: DeliverOptions { setup.options }
  package var endpoint: Endpoint { setup.target.endpoint }

  package func makeShownCredentials() -> any ShownCredentials {
    setup.account.makeShownCredentials()
  }

  /// `connect` starts it.
  package func makeTransport(
    _ delegate: any ConnectionDelegate, _ shown: any ShownCredentials
  ) -> Connection { setup.makeTransport(delegate, shown) }

  /// A connection takes more than before.
  package func hasCapacity() { signals.schedulePump() }

  // MARK: what becomes of pushes

  package func accepted(_ items: [StreamSlots.Slot]) {
    var accepted = judge.begin()
    for item in items { judge.accepted(item.push, sentAt: item.sentAt, &accepted) }
    judge.note(accepted)
    signals.schedulePump()
  }

  /// The server has not looked at it: it is sent again, and this was no try.
  package func putBack(_ item: StreamSlots.Slot) { judge.putBack(item.push) }

  package func refused(
    _ item: StreamSlots.Slot, _ disposition: Disposition, counted refusal: AnswerCounts.Refusal,
    on connection: any PushConnection
  ) { judge.refused(item, disposition, counted: refusal, on: connection) }

  // MARK: what becomes of a connection

  package func ready(_ connection: any PushConnection) { pool.ready(connection) }

  /// It takes no more pushes: another takes its place while it drains.
  package func replace(_ connection: any PushConnection, reason: String) {
    pool.replace(connection, reason: reason)
  }

  /// - Parameter orphans: in flight on it, and nobody knows what became of them.
  package func closed(
    _ connection: any PushConnection, orphans: [StreamSlots.Slot], mustReplace: Bool,
    reason: String
  ) {
    pool.closed(
      connection, orphans: orphans.map(\.push), mustReplace: mustReplace, reason: reason)
  }
}
