/// Finds pushes without an answer, a server without a sign of life, a connection that takes
/// nothing. A pure machine; times are monotonic nanoseconds.
final class ConnectionWatch {
  /// Without anything in flight for longer it is idle.
  static let idleGrace: UInt64 = 1_000_000_000
  /// A probe connection without an answer for so long is asked for a sign of life.
  static let heldUpAfter: UInt64 = 1_000_000_000

  /// Nanoseconds.
  struct Limits {
    var connect: UInt64
    var request: UInt64
    var passedOver: UInt64
    var ping: UInt64
    var pingInterval: UInt64
    var idleBeforePing: UInt64
    var replaced: UInt64
  }

  enum Verdict: Equatable {
    case none
    /// Ask it for a sign of life.
    case ping
    case close(reason: String)
  }

  enum Liveness: Equatable {
    case alive
    /// It was asked for a sign of life, which has not come yet.
    case awaited
    /// The same, and it is to be asked now.
    case unknown(ping: Bool)
  }

  let openedAt: UInt64
  private let limits: Limits
  private var times = AnswerTimes()
  private var lastReceivedAt: UInt64 = 0
  private(set) var lastSentAt: UInt64 = 0
  private var lastAnswerAt: UInt64 = 0
  /// When it was connected; 0 before.
  private var greetingAt: UInt64 = 0
  private var pingSentAt: UInt64?
  /// Asked for a sign of life before it is sent on again.
  private(set) var isAwaitingPing = false
  /// Open, with nothing in flight, and takes nothing since then; nil when it does.
  private var takesNothingSince: UInt64?
  /// It is closed for that: as little use as a connection that failed.
  private var tookNothing = false

  init(openedAt: UInt64, limits: Limits) {
    self.openedAt = openedAt
    self.limits = limits
  }

  // MARK: events

  func connected(at now: UInt64) {
    lastReceivedAt = now
    greetingAt = now
  }

  func received(at now: UInt64) {
    lastReceivedAt = now
    pingSentAt = nil
    isAwaitingPing = false
  }

  func sent(at now: UInt64) { lastSentAt = now }

  /// - Parameter isGivenUp: that says nothing of how long answers take.
  func answered(sentAt: UInt64, isGivenUp: Bool, at now: UInt64) {
    lastAnswerAt = now
    if !isGivenUp { times.answered(sentAt: sentAt, at: now) }
  }

  func pinged(at now: UInt64) { pingSentAt = now }

  // MARK: its use

  /// TCP and TLS were set up.
  var wasOpened: Bool { greetingAt > 0 }

  /// Nothing was sent on it.
  var isFresh: Bool { lastSentAt == 0 }

  /// When it opened, was sent on or answered last.
  var lastUsedAt: UInt64 { max(greetingAt, lastSentAt, lastAnswerAt) }

  /// It has been there for so long that how the one before it ended says nothing of this one's end.
  func isLong(at now: UInt64) -> Bool { now &- openedAt >= ConnectionSlot.calmMemory }

  /// Servers close such connections, and are in good order.
  func isIdle(at now: UInt64) -> Bool {
    let isQuiet = isAwaitingPing || now &- lastUsedAt >= Self.idleGrace
    return greetingAt > 0 && isQuiet && !tookNothing
  }

  // MARK: before it is sent on

  /// Whether it may be sent on after a quiet time. Something on the way may have dropped it without
  /// a word, and pushes sent on it would wait for their time-out: it is asked first, and replaced
  /// when it does not answer soon. Asked of an open connection with nothing in flight.
  func checkLiveness(at now: UInt64) -> Liveness {
    guard now &- lastReceivedAt > limits.idleBeforePing else { return .alive }
    guard !isAwaitingPing else { return .awaited }
    isAwaitingPing = true
    defer { pingSentAt = pingSentAt ?? now }
    return .unknown(ping: pingSentAt == nil)
  }

  // MARK: now and then

  /// No SETTINGS have come.
  func isGreetingTooLong(at now: UInt64) -> Bool { now &- greetingAt > limits.connect }

  /// No streams, no window, or a socket that takes no bytes; and pushes wait for it. Long enough
  /// for a server that only needs to breathe: another connection may find one that takes them.
  ///
  /// - Parameters:
  ///   - takes: it takes pushes, or has some in flight, or need not.
  ///   - isWaitedFor: pushes wait for a connection.
  func takesNothing(takes: Bool, isWaitedFor: @autoclosure () -> Bool, at now: UInt64) -> Bool {
    guard !takes else {
      takesNothingSince = nil
      return false
    }
    let since = takesNothingSince ?? now
    takesNothingSince = since
    tookNothing = isWaitedFor() && now &- since >= limits.replaced
    return tookNothing
  }

  /// One slow answer must not lengthen what is waited for good.
  func fade() { times.fade() }

  /// Whether a push without an answer is given up.
  ///
  /// - Parameters:
  ///   - isForProbes: it went on a probe connection.
  ///   - wereOthersAccepted: the route's server has taken others since it was sent.
  func isOverdue(
    sentAt: UInt64, isForProbes: Bool = false, at now: UInt64,
    wereOthersAccepted: @autoclosure () -> Bool = false
  ) -> Bool {
    if now &- sentAt > limits.request { return true }
    if times.isPassedOver(sentAt: sentAt, at: now, shortest: limits.passedOver) { return true }
    return isForProbes && times.isLong(since: sentAt, at: now, shortest: limits.passedOver)
      && lives(since: sentAt) && wereOthersAccepted()
  }

  /// Some bytes have come, whatever they were, well after that.
  private func lives(since sentAt: UInt64) -> Bool {
    lastReceivedAt > 0 && lastReceivedAt >= sentAt &+ Self.heldUpAfter
  }

  /// Whether a push that is given up says nothing against its connection: that has answered others
  /// meanwhile, or has shown that it lives, where it went on a probe connection.
  func isWell(since sentAt: UInt64, isForProbes: Bool) -> Bool {
    lastAnswerAt > sentAt || (isForProbes && lives(since: sentAt))
  }

  /// Nothing has been sent on it for a while, and what was has no answer.
  func isHeldUp(at now: UInt64) -> Bool {
    now &- max(lastSentAt, lastAnswerAt) > Self.heldUpAfter
  }

  /// The resets of pushes that were given up have not even left.
  func isBlocked(for age: UInt64) -> Bool { age > limits.request + limits.ping }

  /// - Parameters:
  ///   - unanswered: pushes that have just been given up.
  ///   - longest: for so long one has been in flight.
  ///   - isHeldUp: a probe waits for an answer. Does the connection live?
  func judge(
    unanswered: Int, longest: UInt64, isHeldUp: Bool = false, at now: UInt64
  ) -> Verdict {
    if longest > limits.request {
      // It may well answer PINGs: a connection that answers no request is of no use.
      if now &- max(lastAnswerAt, openedAt) > limits.request {
        return .close(reason: "no answer to any push")
      }
      if isBlocked(for: longest) {
        return .close(reason: "it takes nothing of what it is sent")
      }
    }
    if let pingSentAt {
      return now &- pingSentAt > limits.ping ? .close(reason: "no answer to PING") : .none
    }
    let isToBeAsked = isHeldUp && !lives(since: lastSentAt)
    return unanswered > 0 || isToBeAsked || now &- lastReceivedAt > limits.pingInterval
      ? .ping : .none
  }

  /// Nothing at all was answered since then.
  func isSilent(since time: UInt64) -> Bool { lastAnswerAt < time }
}

extension ConnectionWatch.Limits {
  init(_ options: DeliverOptions) {
    self.init(
      connect: options.connectTimeout.nanoseconds, request: options.requestTimeout.nanoseconds,
      passedOver: options.passedOverAfter.nanoseconds, ping: options.pingTimeout.nanoseconds,
      pingInterval: options.pingInterval.nanoseconds,
      idleBeforePing: options.idleBeforePing.nanoseconds,
      replaced: options.replacedAfter.nanoseconds)
  }
}

/// The time that answers take on one connection. A push is passed over when the server has answered
/// others that were sent no sooner, and this one not, for far longer than any answer has taken. A
/// pure machine; times are monotonic nanoseconds.
struct AnswerTimes {
  /// This part of the slowest answer's time is forgotten with each tick: half of it in ten seconds.
  private static let fading: UInt64 = 32
  /// So many times the slowest answer's time.
  private static let tolerance: UInt64 = 3

  /// When the latest of the answered pushes was sent.
  private var latestAnswered: UInt64 = 0
  private var slowest: UInt64 = 0

  mutating func answered(sentAt: UInt64, at now: UInt64) {
    latestAnswered = max(latestAnswered, sentAt)
    slowest = max(slowest, now &- sentAt)
  }

  /// Called twice a second: one slow answer must not lengthen what is waited for good.
  mutating func fade() { slowest -= slowest / Self.fading }

  /// - Parameter shortest: no push is passed over sooner.
  func isPassedOver(sentAt: UInt64, at now: UInt64, shortest: UInt64) -> Bool {
    latestAnswered >= sentAt && isLong(since: sentAt, at: now, shortest: shortest)
  }

  /// Far longer than any answer has taken.
  func isLong(since sentAt: UInt64, at now: UInt64, shortest: UInt64) -> Bool {
    now &- sentAt > max(shortest, Self.tolerance &* slowest)
  }
}
