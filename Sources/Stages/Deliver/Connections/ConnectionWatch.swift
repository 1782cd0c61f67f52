/// Finds pushes without an answer, a server without a sign of life, a connection that takes
/// nothing. A pure machine; times are monotonic nanoseconds.
struct ConnectionWatch {
  /// After so long without an answer an ordinary connection is idle, and a probe connection with
  /// pushes in flight is asked for a sign of life.
  static let grace: UInt64 = 1_000_000_000
  /// This part of the slowest answer's time is forgotten with each tick: half of it in ten seconds.
  private static let fading: UInt64 = 32
  /// So many times the slowest answer's time is far longer than any answer takes.
  private static let tolerance: UInt64 = 3

  enum Verdict: Equatable {
    case none
    /// Ask it for a sign of life.
    case ping
    case close(reason: String)
  }

  let openedAt: UInt64
  private let options: DeliverOptions
  private var lastReceivedAt: UInt64 = 0
  private(set) var lastSentAt: UInt64 = 0
  private var lastAnswerAt: UInt64 = 0
  /// When the latest of the answered pushes was sent.
  private var latestAnswered: UInt64 = 0
  /// The time that the slowest answer took, as far as it is not forgotten.
  private var slowestAnswer: UInt64 = 0
  /// When it was connected; 0 before.
  private var greetingAt: UInt64 = 0
  private var pingSentAt: UInt64?
  /// Asked for a sign of life before it is sent on again.
  var isAwaitingPing = false
  /// Open, with nothing in flight, and takes nothing since then; nil when it does.
  private var takesNothingSince: UInt64?
  /// It is closed for that: as little use as a connection that failed.
  private var tookNothing = false

  init(openedAt: UInt64, _ options: DeliverOptions) {
    self.openedAt = openedAt
    self.options = options
  }

  // MARK: events

  mutating func connected(at now: UInt64) {
    lastReceivedAt = now
    greetingAt = now
  }

  mutating func received(at now: UInt64) {
    lastReceivedAt = now
    pingSentAt = nil
    isAwaitingPing = false
  }

  mutating func sent(at now: UInt64) { lastSentAt = now }

  /// - Parameter isGivenUp: that says nothing of how long answers take.
  mutating func answered(sentAt: UInt64, isGivenUp: Bool, at now: UInt64) {
    lastAnswerAt = now
    guard !isGivenUp else { return }
    latestAnswered = max(latestAnswered, sentAt)
    slowestAnswer = max(slowestAnswer, now &- sentAt)
  }

  /// The first PING without an answer is the one that is waited for.
  mutating func pinged(at now: UInt64) { pingSentAt = pingSentAt ?? now }

  // MARK: its use

  /// TCP and TLS were set up.
  var wasOpened: Bool { greetingAt > 0 }

  /// Nothing was sent on it.
  var isFresh: Bool { lastSentAt == 0 }

  /// Servers close such connections, and are in good order.
  func isIdle(at now: UInt64) -> Bool {
    let lastUsedAt = max(greetingAt, lastSentAt, lastAnswerAt)
    let isQuiet = isAwaitingPing || now &- lastUsedAt >= Self.grace
    return wasOpened && isQuiet && !tookNothing
  }

  /// After a quiet time something on the way may have dropped it without a word, and pushes sent on
  /// it would wait for their time-out: it is asked first, and replaced when it does not answer.
  func isDoubtful(at now: UInt64) -> Bool {
    now &- lastReceivedAt > options.idleBeforePing.nanoseconds
  }

  // MARK: now and then

  /// No SETTINGS have come.
  func isGreetingTooLong(at now: UInt64) -> Bool {
    now &- greetingAt > options.connectTimeout.nanoseconds
  }

  /// No streams, no window, or a socket that takes no bytes; and pushes wait for it. Long enough
  /// for a server that only needs to breathe: another connection may find one that takes them.
  ///
  /// - Parameters:
  ///   - takes: it takes pushes, or has some in flight, or need not.
  ///   - isWaitedFor: pushes wait for a connection.
  mutating func takesNothing(
    takes: Bool, isWaitedFor: @autoclosure () -> Bool, at now: UInt64
  ) -> Bool {
    guard !takes else {
      takesNothingSince = nil
      return false
    }
    let since = takesNothingSince ?? now
    takesNothingSince = since
    tookNothing = isWaitedFor() && now &- since >= options.replacedAfter.nanoseconds
    return tookNothing
  }

  /// Called twice a second: one slow answer must not lengthen what is waited for good.
  mutating func fade() { slowestAnswer -= slowestAnswer / Self.fading }

  /// Whether a push without an answer is given up: after its time-out, or far later than any answer
  /// has come, when the server has answered a push that was sent no sooner.
  ///
  /// - Parameters:
  ///   - isForProbes: it went on a probe connection, where others wait for it.
  ///   - wereOthersAccepted: the route's server has taken others since it was sent.
  func isOverdue(
    sentAt: UInt64, isForProbes: Bool = false, at now: UInt64,
    wereOthersAccepted: @autoclosure () -> Bool = false
  ) -> Bool {
    let elapsed = now &- sentAt
    if elapsed > options.requestTimeout.nanoseconds { return true }
    guard elapsed > max(options.passedOverAfter.nanoseconds, Self.tolerance &* slowestAnswer)
    else { return false }
    if latestAnswered >= sentAt { return true }
    return isForProbes && lives(since: sentAt) && wereOthersAccepted()
  }

  /// Some bytes have come, whatever they were, well after that.
  private func lives(since sentAt: UInt64) -> Bool {
    lastReceivedAt > 0 && lastReceivedAt >= sentAt &+ Self.grace
  }

  /// Whether a push that is given up says nothing against its connection: that has answered others
  /// meanwhile, or has shown that it lives, where it went on a probe connection.
  func isWell(since sentAt: UInt64, isForProbes: Bool) -> Bool {
    lastAnswerAt > sentAt || (isForProbes && lives(since: sentAt))
  }

  /// Nothing has been sent on it for a while, and what was has no answer.
  func isHeldUp(at now: UInt64) -> Bool { now &- max(lastSentAt, lastAnswerAt) > Self.grace }

  /// Whether the connection lives.
  /// - Parameters:
  ///   - hasGivenUp: pushes have just been given up.
  ///   - longest: for so long one has been in flight.
  ///   - isHeldUp: a probe waits for an answer.
  func judge(
    hasGivenUp: Bool, longest: UInt64, isHeldUp: Bool = false, at now: UInt64
  ) -> Verdict {
    let requestTimeout = options.requestTimeout.nanoseconds
    // It may well answer PINGs: a connection that answers no request is of no use.
    if longest > requestTimeout, now &- max(lastAnswerAt, openedAt) > requestTimeout {
      return .close(reason: "no answer to any push")
    }
    if let pingSentAt {
      return now &- pingSentAt > options.pingTimeout.nanoseconds
        ? .close(reason: "no answer to PING") : .none
    }
    let isToBeAsked = hasGivenUp || (isHeldUp && !lives(since: lastSentAt))
    return isToBeAsked || now &- lastReceivedAt > options.pingInterval.nanoseconds
      ? .ping : .none
  }
}
