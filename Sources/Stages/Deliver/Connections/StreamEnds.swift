import EventLoop
import HTTP2
import Model

/// Ends the pushes in flight on one connection: answered, given up, or lost with it. The judges
/// decide what follows for each.
final class StreamEnds {
  private let slots: StreamSlots
  private let watch: ConnectionWatch
  private let judge: AnswerJudge
  private let losses: LossJudge
  private let context: RouteContext
  /// It is a probe connection.
  private let isForProbes: Bool
  /// Pushes that were answered.
  private var answers = 0
  /// Named by the server's GOAWAY: it looks at the streams up to this one.
  private var lastStreamTaken: Int32?
  /// Whether the server took streams from it for rejected tokens.
  private(set) var cut = StreamCut()

  init(
    _ context: RouteContext, slots: StreamSlots, watch: ConnectionWatch, judge: AnswerJudge,
    losses: LossJudge, isForProbes: Bool
  ) {
    self.context = context
    self.slots = slots
    self.watch = watch
    self.judge = judge
    self.losses = losses
    self.isForProbes = isForProbes
  }

  /// The server said that it takes no more streams.
  var wasSentAway: Bool { lastStreamTaken != nil }

  func wentAway(lastStream: Int32, errorCode: UInt32) {
    if errorCode == HTTP2ErrorCode.enhanceYourCalm { judge.calm(sentAt: watch.lastSentAt) }
    lastStreamTaken = lastStream
    cut.wentAway(answers: answers, at: context.loop.now)
  }

  /// The server's SETTINGS have come.
  func limited(to streams: Int) {
    cut.limited(to: min(streams, slots.capacity), at: context.loop.now)
  }

  // MARK: answers

  /// Judges the streams that ended.
  func settle(_ session: HTTP2ClientSession, on connection: any PushConnection) {
    var accepted = judge.begin()
    while let ended = session.nextEnded() {
      guard let item = slots.empty(ended.slot) else { continue }
      if ended.status != 0 {
        answers += 1
        watch.answered(sentAt: item.sentAt, isGivenUp: item.isReset, at: context.loop.now)
      }
      guard ended.status != 200 else {
        judge.accepted(item.push, sentAt: item.sentAt, &accepted)
        continue
      }
      // A failure may change the rate: those that came before are judged by the one before.
      judge.note(accepted)
      if ended.status == 0 {
        settleUnanswered(item, ended)
      } else {
        let disposition = judge.answered(
          item.push, status: ended.status, body: ended.content?.body ?? [],
          isWhole: ended.errorCode == 0, retryAfter: retryAfter(ended.content), on: connection,
          item)
        if case .setAside = disposition { cut.rejected(answers: answers, at: context.loop.now) }
      }
      accepted = judge.begin()
    }
    judge.note(accepted)
  }

  private func retryAfter(_ content: HTTP2Content?) -> Duration? {
    content?.value(of: RetryAfter.fieldName)?.withUnsafeBytes {
      RetryAfter.parse($0, now: context.options.wallClock())
    }
  }

  /// A stream beyond the last one that a GOAWAY names was not looked at (RFC 9113, section 6.8).
  private func isBeyondLast(_ stream: Int32) -> Bool {
    lastStreamTaken.map { stream > $0 } ?? false
  }

  private func settleUnanswered(_ item: StreamSlots.Slot, _ ended: HTTP2Ended) {
    let isRefused = ended.errorCode == HTTP2ErrorCode.refusedStream
    // We gave it up before the server had it.
    let isUntouched = !ended.wasSent || (item.isReset && !ended.wasWhole)
    if isUntouched {
      judge.requeue(item.push)
    } else if isBeyondLast(item.stream) {
      judge.requeueUnprocessed(item.push)
    } else if item.isReset {
      let isWell = watch.isWell(since: item.sentAt, isForProbes: isForProbes)
      losses.gaveUp(item.push, sentAt: item.sentAt, isWell: isWell)
    } else {
      if ended.errorCode == HTTP2ErrorCode.enhanceYourCalm { judge.calm(sentAt: item.sentAt) }
      judge.reset(
        item.push, isRefused: isRefused, wasOnItsWay: cut.wasOnItsWay(sentAt: item.sentAt),
        sentAt: item.sentAt)
    }
  }

  // MARK: the connection's end

  /// Takes out the pushes in flight when the connection is closed, but for those that are known to
  /// have been taken, or never to have been processed.
  func takeOrphans(_ session: HTTP2ClientSession?) -> [ReadyPush] {
    var accepted = judge.begin()
    defer { judge.note(accepted) }
    return slots.occupied.compactMap { slot in
      let status = session?.status(of: slot) ?? 0
      let hasLeft = session?.hasLeft(slot: slot) ?? true
      guard let item = slots.empty(slot) else { return nil }
      if status != 0 { answers += 1 }
      // Its head says all there is to say: the stream's end alone was lost, and the server has the
      // push.
      guard status != 200 else {
        judge.accepted(item.push, sentAt: item.sentAt, &accepted)
        return nil
      }
      guard hasLeft else {
        judge.requeue(item.push)
        return nil
      }
      guard !isBeyondLast(item.stream) else {
        judge.requeueUnprocessed(item.push)
        return nil
      }
      return item.push
    }
  }

  /// Pushes that were answered, or will be as far as is known.
  func carried(_ session: HTTP2ClientSession?) -> Int {
    let taken = slots.occupied.count { slot in
      if let session, session.status(of: slot) != 0 { return true }
      guard let item = slots[slot], let last = lastStreamTaken else { return false }
      return item.stream <= last
    }
    return answers + taken
  }

  // MARK: giving up

  struct GivenUp {
    var count = 0
    /// Of them, those without a word of an answer.
    var unanswered = 0
    /// For so long one has been in flight.
    var longest: UInt64 = 0
  }

  /// Gives up on streams without an answer.
  func giveUpOverdue(_ session: HTTP2ClientSession, at now: UInt64) -> GivenUp {
    var givenUp = GivenUp()
    for slot in slots.occupied {
      guard let item = slots[slot] else { continue }
      givenUp.longest = max(givenUp.longest, now &- item.sentAt)
      guard !item.isReset,
        watch.isOverdue(
          sentAt: item.sentAt, isForProbes: isForProbes, at: now,
          wereOthersAccepted: losses.wereOthersAccepted(since: item.sentAt))
      else { continue }
      slots.setReset(slot)
      session.reset(stream: item.stream, errorCode: HTTP2ErrorCode.cancel)
      givenUp.count += 1
      // One whose answer has begun, and does not end, is not always sent again.
      if session.status(of: slot) == 0 { givenUp.unanswered += 1 }
    }
    return givenUp
  }

  /// When the first push in flight was sent that asks whether credentials are taken for a topic.
  func oldestProbe(of topic: String) -> UInt64? {
    guard slots.inFlight > 0 else { return nil }
    return slots.occupied.compactMap { slots[$0] }
      .filter { $0.push.isProbe && $0.push.topic == topic }.map(\.sentAt).min()
  }

  /// Gives up on pushes of a topic that ask here whether credentials are taken: others ask.
  /// - Returns: how many, and when the last of them was sent.
  func giveUpProbes(
    of topic: String, sentBefore time: UInt64, _ session: HTTP2ClientSession
  ) -> (count: Int, latest: UInt64) {
    var latest: UInt64 = 0
    var count = 0
    for slot in slots.occupied {
      guard let item = slots[slot], item.push.isProbe, !item.isReset, item.push.topic == topic,
        item.sentAt <= time
      else { continue }
      slots.giveUpProbe(slot)
      session.reset(stream: item.stream, errorCode: HTTP2ErrorCode.cancel)
      latest = max(latest, item.sentAt)
      count += 1
    }
    return (count, latest)
  }
}
