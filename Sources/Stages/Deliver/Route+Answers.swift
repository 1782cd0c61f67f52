import EventLoop
import Model
import Text

/// What follows from an answer, or from none. The table is `RejectionTable`'s.
extension Route {
  /// - Parameter answers: is noted when those that came with it are judged.
  func accepted(_ push: ReadyPush, sentAt: UInt64, _ answers: inout AcceptedAnswers) {
    answers.add(push, sentAt: sentAt)
    if push.loss.isAlone { loneWasAnswered(push) }
    lastAcceptedAt = loop.now
    if isWatching { credentialsTaken(by: push) }
    push.batch.settle(push.index, .accepted)
  }

  func note(_ answers: AcceptedAnswers) {
    guard answers.count > 0 else { return }
    lastMovedAt = loop.now
    overload.answered(answers.count, atThisRate: answers.atThisRate, at: loop.now)
    window.answered(answers.ordinary)
    refusalShare.accepted(answers.count, firsts: answers.firsts, refusals: answers.refusals)
  }

  /// Every push that comes back from a connection without having been accepted passes here.
  func back(_ push: ReadyPush) -> ReadyPush {
    guard push.isProbe else { return push }
    topic(named: push.topic).gate.probeReturned()
    var push = push
    push.isProbe = false
    return push
  }

  /// The server ended the stream without an answer.
  /// - Parameter isRefused: it says that it has not looked at the request (RFC 9113, section 8.7).
  func reset(_ push: ReadyPush, isRefused: Bool, sentAt: UInt64) {
    var push = back(push)
    failed(push, sentAt: sentAt)
    guard isRefused else {
      push.history.mayHaveArrived = true
      return retry(push, .unanswered, sentAt: sentAt)
    }
    // No try that speaks against it: nobody has looked at it. Where many are refused, the rate sees
    // to it that the server is not asked too often; where it is this one alone, the growing delay
    // does.
    push.history.countTry()
    push.backOffs += 1
    waitOut(push, tries: overload.isRare ? push.backOffs : min(push.backOffs, 3))
  }

  /// The server took it as little as it takes others that it has too much of.
  private func failed(_ push: ReadyPush, sentAt: UInt64) {
    refusalShare.refused(isFirstTry: !push.isAnotherTry)
    // Some devices that are never taken must not set the pace of all.
    guard !isTaking || !refusalShare.isUpToDevices else { return }
    overload.answered(isFailure: true, sentAt: sentAt, at: loop.now)
  }

  /// The server said that it has not looked at this push and takes no more on that connection: it
  /// goes first on another, and this was no try.
  func putBack(_ push: ReadyPush) {
    enqueue(back(push))
    schedulePump()
  }

  func answered(
    _ push: ReadyPush, status: Int, body: [UInt8], retryAfter: Duration?,
    on connection: APNsConnection, _ item: StreamSlots.Slot
  ) {
    let answer = Answer(body: body)
    let push = back(push)
    lastMovedAt = loop.now
    if push.history.losses == 0 { window.answered() }
    if push.loss.isAlone { loneWasAnswered(push) }
    let disposition = RejectionTable.disposition(status: status, reason: answer.reason)
    switch disposition {
    case .hold, .renewToken, .retryElsewhere: break
    case .retry(let reason):
      if RejectionTable.limit(of: reason)?.whileOthersSucceed == true {
        failed(push, sentAt: item.sentAt)
      } else {
        overload.answered(isFailure: false, sentAt: item.sentAt, at: lastMovedAt)
      }
    case .accepted, .reject, .rejectAndAlert, .prune, .setAside:
      overload.answered(isFailure: false, sentAt: item.sentAt, at: lastMovedAt)
      refusalShare.accepted(
        1, firsts: push.isAnotherTry ? 0 : 1, refusals: RefusalShare.refusals(of: push))
      if isWatching { credentialsTaken(by: push) }
    }
    switch disposition {
    case .accepted: push.batch.settle(push.index, .accepted)
    case .reject(let reason): push.batch.settle(push.index, .rejected(reason))
    case .rejectAndAlert(let reason):
      options.report(.configurationRejected(target.endpoint, reason: reason))
      push.batch.settle(push.index, .rejected(reason))
    case .prune(let reason):
      if let since = answer.timestamp { push.batch.addVerdict(push.index, .gone(since: since)) }
      push.batch.settle(push.index, .rejected(reason))
    case .setAside(let reason):
      push.batch.addVerdict(push.index, .unusable(reason))
      push.batch.settle(push.index, .rejected(reason))
    case .retry(let reason): retry(push, reason, sentAt: item.sentAt, after: retryAfter)
    case .retryElsewhere(let reason):
      connection.retire(reason.name)
      retry(push, reason, sentAt: item.sentAt, after: retryAfter)
    case .renewToken: renewToken(push, connection, item.headers.token)
    case .hold(let reason): refused(push, reason)
    }
  }

  // MARK: credentials

  private func credentialsTaken(by push: ReadyPush) {
    guard let topic = topics.first(where: { $0.name == push.topic }) else { return }
    if push.isProbe { topic.gate.probeReturned() }
    if topic.gate.taken() { credentialsTaken(topic) }
  }

  private func renewToken(
    _ push: ReadyPush, _ connection: APNsConnection, _ token: ProviderToken
  ) {
    let wall = options.wallClock()
    if let renewed = try? tokens.replacement(for: token, now: wall), renewed !== token {
      connection.retire("ExpiredProviderToken")
      var push = push
      push.history.countTry()
      waitOut(push, tries: 1)
    } else {
      // A token this young cannot have expired: our clock or Apple's is wrong.
      refused(push, .expiredProviderToken)
    }
  }

  private func refused(_ push: ReadyPush, _ reason: RejectionReason) {
    var push = push
    push.history.countRefusal()
    isWatching = true
    let topic = topic(named: push.topic)
    let verdict = topic.gate.refused(
      refusals: Int(push.history.refusals), at: loop.now,
      hold: options.credentialHold.nanoseconds)
    switch verdict {
    case .reject: push.batch.settle(push.index, .rejected(reason))
    case .wait: waitOut(push, tries: Int(push.history.refusals))
    case .hold(let until):
      credentialsHeld(topic, reason: reason)
      waitOut(push, tries: Int(push.history.refusals), notBefore: until)
    }
    schedulePump()
  }

  // MARK: another try

  private func retry(
    _ push: ReadyPush, _ reason: RejectionReason, sentAt: UInt64, after: Duration? = nil
  ) {
    var push = push
    let limit = RejectionTable.limit(of: reason)
    // When Apple took others between its last two tries, and most of them lately, it is this push
    // that it does not take. One that takes a part of them says that of any push.
    let othersSucceed = lastAcceptedAt >= (push.answeredAt > 0 ? push.answeredAt : sentAt)
    let mayBeServers = limit?.whileOthersSucceed == true
    let counted = mayBeServers ? (othersSucceed ? refusalShare.weight : 0) : PushHistory.wholeTry
    push.history.countTry(suspicion: counted)
    push.answeredAt = loop.now
    let tries = Int(push.history.suspicion / PushHistory.wholeTry)
    if let limit, tries >= limit.tries {
      return push.batch.settle(push.index, .rejected(reason))
    }
    push.backOffs += 1
    waitOut(push, tries: max(push.backOffs, tries), atLeast: after)
  }

  func waitOut(
    _ push: ReadyPush, tries: Int, notBefore: UInt64 = 0, atLeast: Duration? = nil,
    atMost: Duration? = nil
  ) {
    let remaining = push.batch.headers.expiresAt - options.wallClock()
    let decision = options.retry.decide(
      tries: tries, remainingMilliseconds: remaining, atLeast: atLeast ?? .zero,
      chance: random.next())
    switch decision {
    case .expire: push.settleExpired()
    case .retry(var delay):
      var push = push
      if let atMost { delay = min(delay, atMost) }
      push.askAgainAt = atLeast == nil ? 0 : options.wallClock() + delay.wholeMilliseconds
      let due = max(loop.now &+ delay.nanoseconds, notBefore)
      // Not beyond its expiry, also while nothing is sent: it gets its outcome then.
      let expiry = loop.now &+ Duration.milliseconds(remaining).nanoseconds
      wait(push, until: min(due, expiry))
    }
  }
}
