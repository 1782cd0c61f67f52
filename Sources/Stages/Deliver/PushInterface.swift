import EventLoop
import Transport

/// An interface other than HTTP/2, whose connections its platform makes.
package protocol PushInterface: Sendable {
  /// How long a push that is taken has no answer for want of any.
  var silence: Duration { get }
  /// Offered in a TLS handshake (ALPN).
  var applicationProtocols: [String] { get }
  func makeConnection(_ route: ConnectionRoute) -> any PushConnection
}

/// A route as a connection of a `PushInterface` sees it. Confined to the lane's loop.
package final class ConnectionRoute {
  private let context: RouteContext
  private unowned let pool: ConnectionPool
  private let judge: AnswerJudge

  init(_ context: RouteContext, pool: ConnectionPool, judge: AnswerJudge) {
    self.context = context
    self.pool = pool
    self.judge = judge
  }

  package var loop: EventLoop { context.loop }
  package var options: DeliverOptions { context.options }
  package var endpoint: Endpoint { context.target.endpoint }

  package func makeShownCredentials() -> any ShownCredentials {
    context.account.makeShownCredentials()
  }

  /// `connect` starts it.
  package func makeTransport(
    _ delegate: any ConnectionDelegate, _ shown: any ShownCredentials
  ) -> Connection { context.makeTransport(delegate, shown) }

  /// A connection takes more than before.
  package func hasCapacity() { context.signals.schedulePump() }

  // MARK: pushes

  package func accepted(_ items: [StreamSlots.Slot]) {
    var accepted = judge.begin()
    for item in items { judge.accepted(item.push, sentAt: item.sentAt, &accepted) }
    judge.note(accepted)
    context.signals.schedulePump()
  }

  /// The server has not looked at it: it is sent again, and this was no try.
  package func requeue(_ item: StreamSlots.Slot) { judge.requeue(item.push) }

  package func refused(
    _ item: StreamSlots.Slot, _ disposition: Disposition, counted refusal: AnswerCounts.Refusal,
    on connection: any PushConnection
  ) {
    judge.refused(item, AnswerMeaning(disposition, counted: refusal), on: connection)
  }

  // MARK: connections

  package func ready(_ connection: any PushConnection) { pool.ready(connection) }

  /// It takes no more pushes: another takes its slot while it drains.
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
