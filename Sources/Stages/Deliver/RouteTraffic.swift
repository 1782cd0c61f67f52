/// What a route's server takes and what it does not, as its answers have shown lately; by that, how
/// much may be sent to it. Times are monotonic nanoseconds.
final class RouteTraffic {
  /// When a push was accepted not longer ago, the server is in order.
  static let takingFor: UInt64 = 2_000_000_000

  /// Streams that a connection has at most.
  private let streams: Int
  private(set) var overload = Overload()
  private(set) var window = LossWindow()
  private(set) var refusalShare = RefusalShare()
  /// When a push was sent or answered last, or none was ready.
  private(set) var lastMovedAt: UInt64 = 0
  private(set) var lastAcceptedAt: UInt64 = 0

  init(streamsPerConnection streams: Int) { self.streams = streams }

  /// Connections are lost so often that little may be in flight on each.
  var isCareful: Bool { window.isCareful(streams: streams) }

  func isTaking(at now: UInt64) -> Bool { now &- lastAcceptedAt < Self.takingFor }

  // MARK: sending

  /// Nothing is there that could be sent.
  func rests(at now: UInt64) { lastMovedAt = now }

  func sent(_ pushes: Int, at now: UInt64) {
    lastMovedAt = now
    overload.take(pushes)
  }

  /// - Parameter ready: pushes that could be sent.
  func allowance(ready: Int, at now: UInt64) -> Int { overload.allowance(ready: ready, at: now) }

  // MARK: answers

  func accepted(at now: UInt64) { lastAcceptedAt = now }

  func note(_ answers: AcceptedAnswers, at now: UInt64) {
    lastMovedAt = now
    overload.answered(answers.count, atThisRate: answers.atThisRate, at: now)
    window.answered(answers.ordinary)
    refusalShare.accepted(answers.count, firsts: answers.firsts, refusals: answers.refusals)
  }

  /// It has an answer, other than that it was accepted.
  func answered(_ push: ReadyPush, at now: UInt64) {
    lastMovedAt = now
    if push.history.losses == 0 { window.answered() }
  }

  /// The server took it as little as it takes others that it has too much of.
  func failed(_ push: ReadyPush, sentAt: UInt64, at now: UInt64) {
    refusalShare.refused(isFirstTry: !push.isAnotherTry)
    // Some devices that are never taken must not set the pace of all.
    guard !isTaking(at: now) || !refusalShare.isUpToDevices else { return }
    overload.answered(isFailure: true, sentAt: sentAt, at: now)
  }

  /// The server looked at it: it has not too much of them.
  func looked(sentAt: UInt64, at now: UInt64) {
    overload.answered(isFailure: false, sentAt: sentAt, at: now)
  }

  /// It has its outcome.
  func ended(_ push: ReadyPush, sentAt: UInt64, at now: UInt64) {
    looked(sentAt: sentAt, at: now)
    refusalShare.accepted(
      1, firsts: push.isAnotherTry ? 0 : 1, refusals: RefusalShare.refusals(of: push))
  }

  // MARK: losses

  /// A connection was lost with pushes in flight.
  func lost(openedAt: UInt64, at now: UInt64) { window.lost(openedAt: openedAt, at: now) }

  /// Called now and then.
  func forget(at now: UInt64) {
    window.forget(at: now)
    overload.forget(at: now)
  }
}
