import EventLoop
import Model
import Telemetry
import Text

/// Gives a push its outcome, or schedules its next try, by its answer or the lack of one. The
/// platform says what an answer means.
final class AnswerJudge {
  private let context: RouteContext
  private let loop: EventLoop
  private let traffic: RouteTraffic
  private let waiting: RouteWaiting
  private let credentials: RouteCredentials
  /// Answers by time, status and reason.
  private(set) var figures = PlatformFigures()

  init(_ context: RouteContext, waiting: RouteWaiting, credentials: RouteCredentials) {
    self.context = context
    loop = context.loop
    traffic = context.traffic
    self.waiting = waiting
    self.credentials = credentials
  }

  /// For the answers that come together from now on.
  func begin() -> AcceptedAnswers { AcceptedAnswers(rateSince: traffic.overload.loweredAt) }

  /// - Parameter answers: is noted when those that came with it are judged.
  func accepted(_ push: ReadyPush, sentAt: UInt64, _ answers: inout AcceptedAnswers) {
    answers.add(push, sentAt: sentAt)
    let now = loop.now
    figures.answerTimes.observe(nanoseconds: now &- sentAt)
    traffic.accepted(push, at: now)
    if credentials.isWatching { credentials.taken(by: push, sentAt: sentAt) }
    push.batch.settle(push.index, .accepted, sentAt: sentAt)
  }

  func note(_ answers: AcceptedAnswers) {
    guard answers.count > 0 else { return }
    figures.answerCounts.accepted += answers.count
    traffic.note(answers, at: loop.now)
  }

  /// The meaning of an answer, as its platform has it; nil: the push is accepted.
  func meaning(of answer: PlatformAnswer) -> AnswerMeaning? {
    guard answer.status != 200 else { return nil }
    let meaning = context.account.meaning(of: answer)
    return meaning.disposition == .accepted ? nil : meaning
  }

  /// The server ended the stream without an answer.
  /// - Parameters:
  ///   - isRefused: it says that it has not looked at the request (RFC 9113, section 8.7).
  ///   - wasOnItsWay: to a connection of which the server took streams meanwhile: that it refuses
  ///     this one says nothing of how much it takes.
  func reset(_ push: ReadyPush, isRefused: Bool, wasOnItsWay: Bool, sentAt: UInt64) {
    var push = context.queue.back(push)
    if !isRefused || !wasOnItsWay { traffic.failed(push, sentAt: sentAt, at: loop.now) }
    guard isRefused else {
      push.history.mayHaveArrived = true
      return retry(push, .unanswered, sentAt: sentAt)
    }
    // No try that speaks against it: nobody has looked at it. The rate sees to it that the server
    // is not asked too often.
    push.history.countTry()
    push.backOffs += 1
    waiting.scheduleRetry(push, tries: min(push.backOffs, 3))
  }

  /// The server asks to be sent less, with the stream of a push or with a connection that was used
  /// then.
  func calm(sentAt: UInt64) { traffic.overload.calm(sentAt: sentAt, at: loop.now) }

  /// The server has not processed this push and takes no more on that connection: it is sent on
  /// another, and this was no try.
  /// - Parameter hadIt: the server had the request, and left it out of those that its GOAWAY names.
  func requeue(_ push: ReadyPush, hadIt: Bool = false) {
    var push = context.queue.back(push)
    if hadIt { push.loss.wasUnprocessed = true }
    waiting.requeue(push)
    context.signals.schedulePump()
  }

  /// The server answered, and not that it accepts the push.
  func refused(
    _ item: StreamSlots.Slot, _ meaning: AnswerMeaning, retryAfter: Duration? = nil,
    on connection: any PushConnection
  ) {
    figures.answerCounts.refuse(meaning.refusal)
    if let unknown = meaning.unknown, figures.unknownAnswers.count(unknown) {
      context.report(.unknownAnswer(context.server, unknown))
    }
    let push = context.queue.back(item.push)
    let wait = retryAfter ?? meaning.minimumWait
    count(push, meaning.disposition, sentAt: item.sentAt)
    switch meaning.disposition {
    case .accepted: push.batch.settle(push.index, .accepted, sentAt: item.sentAt)
    case .reject(let reason): push.settle(answered: reason, sentAt: item.sentAt)
    case .rejectAndAlert(let reason):
      context.report(.configurationRejected(context.server, reason: reason))
      push.settle(answered: reason, sentAt: item.sentAt)
    case .prune(let reason):
      push.batch.addVerdict(push.index, .gone(since: meaning.goneSince ?? 0, reason: reason))
      push.settle(answered: reason, sentAt: item.sentAt)
    case .setAside(let reason): setAside(push, reason, sentAt: item.sentAt)
    case .retry(let reason): retry(push, reason, sentAt: item.sentAt, after: wait)
    case .retryElsewhere(let reason):
      connection.retire(reason.name)
      retry(push, reason, sentAt: item.sentAt, after: wait)
    case .renew(let reason): credentials.renew(push, reason, connection, item)
    case .hold(let reason):
      if meaning.mayBeOfDevice, credentials.areTaken(butFor: push) {
        return setAside(push, reason, sentAt: item.sentAt)
      }
      credentials.refused(push, reason, meaning.unknown, sentAt: item.sentAt)
    }
  }

  private func setAside(_ push: ReadyPush, _ reason: RejectionReason, sentAt: UInt64) {
    push.batch.addVerdict(push.index, .unusable(reason))
    push.settle(answered: reason, sentAt: sentAt)
  }

  /// Counts an answer as evidence about the server.
  private func count(_ push: ReadyPush, _ disposition: Disposition, sentAt: UInt64) {
    let now = loop.now
    figures.answerTimes.observe(nanoseconds: now &- sentAt)
    traffic.answered(push.history.losses == 0 ? 1 : 0, at: now)
    switch disposition {
    case .hold, .renew, .retryElsewhere: break
    case .retry(let reason):
      switch context.account.subject(of: reason) {
      case .server: traffic.failed(push, sentAt: sentAt, at: now)
      case .device, nil: traffic.refusedDevice(push, sentAt: sentAt, at: now)
      }
    case .accepted, .reject, .rejectAndAlert, .prune, .setAside:
      traffic.ended(push, sentAt: sentAt, at: now)
      if credentials.isWatching { credentials.taken(by: push, sentAt: sentAt) }
    }
  }

  private func retry(
    _ push: ReadyPush, _ reason: RejectionReason, sentAt: UInt64, after: Duration? = nil
  ) {
    var push = push
    let subject = context.account.subject(of: reason)
    push.history.countTry(suspicion: suspicion(of: push, subject, sentAt: sentAt))
    push.answeredAt = loop.now
    let tries = Int(push.history.suspicion / PushHistory.wholeTry)
    if subject != nil, tries >= RetrySubject.mostTries {
      return push.settle(as: .rejected(reason), sentAt: sentAt)
    }
    push.backOffs += 1
    waiting.scheduleRetry(push, tries: max(push.backOffs, tries), atLeast: after)
  }

  /// The suspicion that an answer adds against its push.
  private func suspicion(
    of push: ReadyPush, _ subject: RetrySubject?, sentAt: UInt64
  ) -> UInt16 {
    switch subject {
    case nil: return PushHistory.wholeTry
    case .device: return traffic.deviceWeight(of: push.tally.fanOut)
    case .server:
      // When it took others between its last two tries, and most of them lately, it is this push
      // that the server does not take. One that takes a part of them says that of any push.
      let since = push.answeredAt > 0 ? push.answeredAt : sentAt
      return traffic.lastAcceptedAt >= since ? traffic.refusalShare.weight : 0
    }
  }
}

/// Pushes that were accepted, counted while the answers that came together are judged: what follows
/// from them for all others is worked out once.
struct AcceptedAnswers {
  private let rateSince: UInt64
  private(set) var count = 0
  /// Of pushes that were sent at the present rate of `Overload`.
  private(set) var atThisRate = 0
  /// Of pushes that were never lost with a connection.
  private(set) var ordinary = 0
  /// Of pushes that were sent for the first time.
  private(set) var firsts = 0
  /// Refusals of the others before they were accepted.
  private(set) var refusals = 0

  init(rateSince: UInt64) { self.rateSince = rateSince }

  mutating func add(_ push: ReadyPush, sentAt: UInt64) {
    count += 1
    if sentAt >= rateSince { atThisRate += 1 }
    if push.history.losses == 0 { ordinary += 1 }
    guard push.isAnotherTry else {
      firsts += 1
      return
    }
    refusals += RefusalShare.refusals(of: push)
    // Its tries in this lane, for whoever asks how often it was sent.
    push.batch.setHistory(push.index, push.history)
  }
}
