import EventLoop
import HTTP2

/// What follows from silence: pushes without an answer, a server without a sign of life.
extension APNsConnection {
  /// Whether it may be sent on after a quiet time. Something on the way may have dropped it without
  /// a word, and pushes sent on it would wait for their time-out: it is asked first, and replaced
  /// when it does not answer soon.
  func isProven(at now: UInt64) -> Bool {
    guard machine.phase == .open, slots.inFlight == 0,
      now &- lastHeardAt > options.idleBeforePing.nanoseconds
    else { return true }
    guard !isProving else { return false }
    isProving = true
    if pingSentAt == nil { session?.ping() }
    pingSentAt = pingSentAt ?? now
    hasWork = true
    loop.schedule(after: options.proofTimeout) { [weak self] in
      guard let self, isProving, machine.phase == .open else { return }
      close(.silent, "no answer to PING after a quiet time")
    }
    return false
  }

  /// Gives up on streams without an answer and asks a quiet server for a sign of life.
  func tick(now: UInt64) {
    if machine.phase == .greeting, now &- greetingAt > options.connectTimeout.nanoseconds {
      close(.silent, "no SETTINGS after the TLS handshake")
      return
    }
    guard machine.phase == .open || machine.phase == .draining, let session else { return }
    if takesNothing(now) {
      tookNothing = true
      close(.silent, "open, but it took no pushes")
      return
    }
    answerTimes.fade()
    var unanswered = 0
    var longest: UInt64 = 0
    let limit = options.requestTimeout.nanoseconds
    for slot in slots.occupied {
      guard let item = slots[slot] else { continue }
      let waited = now &- item.sentAt
      longest = max(longest, waited)
      guard !item.isReset,
        waited > limit
          || answerTimes.isPassedOver(
            sentAt: item.sentAt, at: now, shortest: options.passedOverAfter.nanoseconds)
      else { continue }
      slots.setReset(slot)
      session.reset(stream: item.stream, errorCode: HTTP2ErrorCode.cancel)
      unanswered += 1
    }
    if unanswered > 0 {
      options.report(.unanswered(target.endpoint, pushes: unanswered))
    }
    if longest > limit {
      // It may well answer PINGs: a connection that answers no request is of no use.
      if now &- max(lastAnswerAt, openedAt) > limit {
        close(.silent, "no answer to any push")
        return
      }
      // What was given up is over when that has left, and it does not leave.
      if longest > limit + options.pingTimeout.nanoseconds {
        close(.silent, "it takes nothing of what it is sent")
        return
      }
    }
    if let pingSentAt {
      if now &- pingSentAt > options.pingTimeout.nanoseconds {
        close(.silent, "no answer to PING")
        return
      }
    } else if unanswered > 0 || now &- lastHeardAt > options.pingInterval.nanoseconds {
      session.ping()
      pingSentAt = now
    }
    flush()
  }

  /// When the first push in flight was sent that asks whether credentials are taken for a topic.
  func oldestProbe(of topic: String) -> UInt64? {
    guard slots.inFlight > 0 else { return nil }
    return slots.occupied.compactMap { slots[$0] }
      .filter { $0.push.isProbe && $0.push.topic == topic }.map(\.sentAt).min()
  }

  /// Gives up on pushes of a topic that ask here whether credentials are taken: others ask. Where
  /// nothing at all is answered they do so on another connection.
  /// - Returns: how many.
  func giveUpProbes(of topic: String, sentBefore time: UInt64) -> Int {
    guard let session, slots.inFlight > 0 else { return 0 }
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
    guard count > 0 else { return 0 }
    options.report(.unanswered(target.endpoint, pushes: count))
    if lastAnswerAt < latest {
      retire("no answer to pushes that ask whether credentials are taken")
    }
    flush()
    return count
  }

  /// No streams, no window, or a socket that takes no bytes; and pushes wait for it. Long enough
  /// for a server that only needs to breathe: another connection may find one that takes them.
  private func takesNothing(_ now: UInt64) -> Bool {
    guard machine.phase == .open, slots.inFlight == 0, capacity == 0 else {
      takesNothingSince = nil
      return false
    }
    let since = takesNothingSince ?? now
    takesNothingSince = since
    return pool.hasWaitingPushes && now &- since >= options.replacedAfter.nanoseconds
  }
}
