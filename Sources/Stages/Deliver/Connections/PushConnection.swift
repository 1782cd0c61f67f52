import Model

/// A connection as its route uses it, whichever interface it speaks. None of it is called for each
/// push: a run of pushes goes out in one call, and answers are judged inside.
package protocol PushConnection: AnyObject {
  func connect()
  var phase: ConnectionMachine.Phase { get }
  var inFlight: Int { get }
  /// How many more pushes it takes now.
  var capacity: Int { get }
  /// Pushes that may be in flight on it at a time; 0: it is not open.
  var streams: Int { get }
  /// Whether it may be sent on after a quiet time; if not it is asked for a sign of life.
  func isAlive(at now: UInt64) -> Bool
  /// Hands pushes over, as many as it takes. Only when there is capacity.
  func send(
    _ run: ReadyRun, headers: SharedHeaders, isCredentialCheck: Bool, now: UInt64
  ) -> (sent: Int, end: RequestSender.End)
  func flushIfNeeded()
  /// The credentials that the server has seen on it.
  var shown: any ShownCredentials { get }
  /// The server said that it takes no more pushes on it.
  var wasSentAway: Bool { get }
  /// Whether it took streams from it for rejected tokens.
  var cut: StreamCut { get }

  /// Takes no new pushes and closes when those in flight have their outcome.
  func retire(_ reason: String)
  func stop()
  func handle(_ event: ConnectionMachine.Event, _ reason: String)
  func tick(now: UInt64)

  var openedAt: UInt64 { get }
  var wasOpened: Bool { get }
  /// Nothing was sent on it.
  var isFresh: Bool { get }
  /// How it ended, or how it would count if it ended now.
  func end(at now: UInt64) -> ConnectionSlot.End
}
