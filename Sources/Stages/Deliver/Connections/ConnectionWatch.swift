/// How long a connection has been silent, and what follows: a push without an answer, a server
/// without a sign of life, a connection that takes nothing. A pure machine; times are monotonic
/// nanoseconds.
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

  enum Proof: Equatable {
    /// It may be sent on.
    case given
    /// It was asked for a sign of life, which has not come yet.
    case awaited
    /// The same, and it is to be asked now.
    case wanted(ping: Bool)
  }

  let openedAt: UInt64
  private let limits: Limits
  private var times = AnswerTimes()
  private var lastHeardAt: UInt64 = 0
  private(set) var lastSentAt: UInt64 = 0
  private var lastAnswerAt: UInt64 = 0
  /// When it was connected; 0 before.
  private var greetingAt: UInt64 = 0
  private var pingSentAt: UInt64?
  /// Asked for a sign of life before it is sent on again.
  private(set) var isProving = false
  /// Open, with nothing in flight, and takes nothing since then; nil when it does.
  private var takesNothingSince: UInt64?
  /// It is closed for that: as little use as a connection that failed.
  private var tookNothing = false

  init(openedAt: UInt64, limits: Limits) {
    self.openedAt = openedAt
    self.limits = limits
  }

  // MARK: what happens

  func connected(at now: UInt64) {
    lastHeardAt = now
    greetingAt = now
  }

  func heard(at now: UInt64) {
    lastHeardAt = now
    pingSentAt = nil
    isProving = false
  }

  func sent(at now: UInt64) { lastSentAt = now }

  /// - Parameter isGivenUp: that says nothing of how long answers take.
  func answered(sentAt: UInt64, isGivenUp: Bool, at now: UInt64) {
    lastAnswerAt = now
    if !isGivenUp { times.answered(sentAt: sentAt, at: now) }
  }

  func pinged(at now: UInt64) { pingSentAt = now }

  // MARK: what it was of use for

  /// TCP and TLS were set up.
  var wasOpened: Bool { greetingAt > 0 }

  /// Nothing was sent on it.
  var isFresh: Bool { lastSentAt == 0 }

  /// When it opened, was sent on or answered last.
  var lastUsedAt: UInt64 { max(greetingAt, lastSentAt, lastAnswerAt) }

  /// It has been there for so long that how the one before it ended says nothing of this one's end.
  func isLong(at now: UInt64) -> Bool { now &- openedAt >= ConnectionPlace.calmMemory }

  /// Servers close such connections, and are in good order.
  func isIdle(at now: UInt64) -> Bool {
    let isQuiet = isProving || now &- lastUsedAt >= Self.idleGrace
    return greetingAt > 0 && isQuiet && !tookNothing
  }

  // MARK: before it is sent on

  /// Whether it may be sent on after a quiet time. Something on the way may have dropped it without
  /// a word, and pushes sent on it would wait for their time-out: it is asked first, and replaced
  /// when it does not answer soon. Asked of an open connection with nothing in flight.
  func prove(at now: UInt64) -> Proof {
    guard now &- lastHeardAt > limits.idleBeforePing else { return .given }
    guard !isProving else { return .awaited }
    isProving = true
    defer { pingSentAt = pingSentAt ?? now }
    return .wanted(ping: pingSentAt == nil)
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

  /// It has said something, whatever it was, well after that.
  private func lives(since sentAt: UInt64) -> Bool {
    lastHeardAt > 0 && lastHeardAt >= sentAt &+ Self.heldUpAfter
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

  /// What was given up is over when that has left: so long it takes at most.
  func isStuck(for age: UInt64) -> Bool { age > limits.request + limits.ping }

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
      if isStuck(for: longest) {
        return .close(reason: "it takes nothing of what it is sent")
      }
    }
    if let pingSentAt {
      return now &- pingSentAt > limits.ping ? .close(reason: "no answer to PING") : .none
    }
    let isToBeAsked = isHeldUp && !lives(since: lastSentAt)
    return unanswered > 0 || isToBeAsked || now &- lastHeardAt > limits.pingInterval
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

/// How long answers take on one connection, and so which push is passed over: the server has
/// answered what was sent no sooner, and this one not, for far longer than any answer has taken. It
/// is this push then that it does not answer. A pure machine; times are monotonic nanoseconds.
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
