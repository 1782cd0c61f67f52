import EventLoop
import Model
import Text

/// Limits what is sent to a route's server by what it took lately. Times are monotonic nanoseconds.
final class RouteTraffic {
  /// Streams that a connection has for any fan-out.
  private let streams: Int
  /// When a push was accepted not longer ago, the server takes pushes. Nanoseconds.
  private let takingFor: UInt64
  var overload = Overload()
  /// Of the account; nil: none, or none is known yet.
  private(set) var limit: PushLimit?
  var window = LossWindow()
  private(set) var refusalShare = RefusalShare()
  /// Of what is said of single devices.
  private var deviceRefusals = RefusalShare()
  private var detection = OutlierDetection()
  /// When a push was sent or answered last, or none was ready.
  private(set) var lastMovedAt: UInt64 = 0
  private(set) var lastSentAt: UInt64 = 0
  /// When one was answered last, whatever the answer.
  private(set) var lastAnsweredAt: UInt64 = 0
  private(set) var lastAcceptedAt: UInt64 = 0
  /// When the server looked at a push last, whatever it thought of it.
  private(set) var lastLookedAt: UInt64 = 0
  /// Pushes sent since something was answered last, and when the first of them was.
  private(set) var unanswered: (pushes: Int, since: UInt64) = (0, 0)

  init(_ options: DeliverOptions) {
    streams = options.streamsPerConnection
    takingFor = options.stalledAfter.nanoseconds
  }

  /// Connections are lost so often that little may be in flight on each.
  var isCareful: Bool { window.isCareful(streams: streams) }

  func isTaking(at now: UInt64) -> Bool { now &- lastAcceptedAt < takingFor }

  /// It takes pushes, and all that it is sent.
  func isInOrder(at now: UInt64) -> Bool {
    isTaking(at: now) && overload.rate == nil && !isCareful
  }

  // MARK: sending

  /// Fan-outs take turns by so many: with a bound by no more than go at once.
  var pushesPerTurn: Int {
    guard let rate = overload.rate else { return FairQueue.pushesPerTurn }
    return min(FairQueue.pushesPerTurn, Int(TokenBucket.burst(of: rate)))
  }

  /// Pushes that may be in flight on one connection: a few more with each second in which nothing
  /// is answered. The window may be full of one fan-out's pushes that never will be.
  func inFlightLimit(at now: UInt64) -> Int {
    guard unanswered.pushes > 0, !isCareful else { return window.limit }
    let seconds = Int((now &- unanswered.since) / 1_000_000_000)
    return window.limit + min(LossWindow.initial, LossWindow.floor * seconds)
  }

  /// Fan-outs of which nearly all pushes fail while those of others are taken, or nothing is taken
  /// while the server takes next to nothing.
  var outliers: [FanOut] {
    detection.isEmpty ? [] : detection.outliers(isAtFloor: overload.isAtFloor)
  }

  /// Nothing is there that could be sent.
  func rests(at now: UInt64) { lastMovedAt = now }

  func sent(_ pushes: Int, at now: UInt64) {
    // Pushes from before a quiet minute say nothing of the server as it is now.
    if now &- lastSentAt >= Evidence.memory { unanswered = (0, 0) }
    lastMovedAt = now
    lastSentAt = now
    if unanswered.pushes == 0 { unanswered.since = now }
    unanswered.pushes += pushes
    overload.take(pushes)
    limit?.take(pushes)
  }

  /// Before pushes are handed out: an account may learn its quota with its first credential.
  func apply(_ quota: PushQuota?) {
    guard let quota, limit == nil else { return }
    limit = PushLimit(.project(quota.project), rate: quota.rate)
  }

  // MARK: answers

  func accepted(_ push: ReadyPush, at now: UInt64) {
    lastAcceptedAt = now
    lastLookedAt = now
    taken(push.tally.fanOut)
  }

  /// While nobody fails, all that is to be known of a fan-out is that it was taken once.
  private func taken(_ fanOut: FanOut) {
    if !fanOut.wasTaken || fanOut.failures > 0 { fanOut.taken() }
    if !detection.isEmpty { detection.taken(fanOut) }
  }

  func note(_ answers: AcceptedAnswers, at now: UInt64) {
    answered(answers.ordinary, at: now)
    count(answers, at: now)
  }

  private func count(_ answers: AcceptedAnswers, at now: UInt64) {
    overload.answered(answers.atThisRate, at: now)
    refusalShare.accepted(answers.count, firsts: answers.firsts, refusals: answers.refusals)
    deviceRefusals.accepted(answers.count, firsts: answers.firsts, refusals: answers.refusals)
  }

  /// Pushes have an answer, whichever it is.
  /// - Parameter ordinary: how many of them were never lost with a connection.
  func answered(_ ordinary: Int, at now: UInt64) {
    lastMovedAt = now
    lastAnsweredAt = now
    unanswered = (0, 0)
    window.answered(ordinary)
  }

  /// The server took it as little as it takes others that it has too much of.
  func failed(_ push: ReadyPush, sentAt: UInt64, at now: UInt64) {
    let fanOut = push.tally.fanOut
    fanOut.failed()
    if detection.failed(fanOut, at: now) {
      // The server is in order: its failures were those of some fan-outs alone.
      overload.trust()
      refusalShare = RefusalShare()
    }
    // An outlier says nothing of how others fare.
    guard !detection.isOutlier(fanOut) else { return }
    refusalShare.refused(isFirstTry: !push.isAnotherTry)
    overload.answered(isFailure: true, sentAt: sentAt, at: now)
  }

  /// The suspicion that one more refusal of its device adds to a push: none where nearly all others
  /// are refused too, be they the server's or its fan-out's.
  func deviceWeight(of fanOut: FanOut) -> UInt16 {
    detection.isRefused(fanOut) ? 0 : deviceRefusals.deviceWeight
  }

  /// The server says that a device has had too many. What it says of nearly all is not up to them:
  /// then it has too much itself, or of their fan-out.
  func refusedDevice(_ push: ReadyPush, sentAt: UInt64, at now: UInt64) {
    lastLookedAt = now
    let fanOut = push.tally.fanOut
    let isAgain = push.answeredAt > 0 || push.history.suspicion > 0
    detection.deviceRefused(fanOut, isAgain: isAgain, at: now)
    deviceRefusals.refused(isFirstTry: !push.isAnotherTry)
    if deviceWeight(of: fanOut) == 0 {
      failed(push, sentAt: sentAt, at: now)
    } else {
      fanOut.taken()
      overload.answered(isFailure: false, sentAt: sentAt, at: now)
    }
  }

  /// It has its outcome: the server looked at it, and has not too much of them.
  func ended(_ push: ReadyPush, sentAt: UInt64, at now: UInt64) {
    lastLookedAt = now
    taken(push.tally.fanOut)
    var answers = AcceptedAnswers(rateSince: overload.loweredAt)
    answers.add(push, sentAt: sentAt)
    count(answers, at: now)
  }

  /// Called now and then.
  func forget(at now: UInt64) {
    window.forget(at: now)
    overload.forget(at: now)
    detection.forget(at: now)
  }
}
