import Model

/// What follows from an answer, or from none. The table is `RejectionTable`'s.
extension Route {
  /// A stream ended without an answer: refused on an open connection, given up, or broken.
  func unanswered(_ push: ReadyPush) { retryLater(push) }

  /// The server said that it has not looked at this push and takes no more on that connection: it
  /// goes first on another, and this was no try.
  func putBack(_ push: ReadyPush) {
    ready.putBack(push)
    schedulePump()
  }

  /// An answer that only valid credentials get.
  func credentialsTaken() {
    guard isProbing else { return }
    isProbing = false
    schedulePump()
  }

  /// - Parameter token: the one that this push was sent with.
  func answered(
    _ push: ReadyPush, status: Int, body: [UInt8], on connection: APNsConnection,
    _ token: ProviderToken
  ) {
    let answer = Answer(body: body)
    let disposition = RejectionTable.disposition(status: status, reason: answer.reason)
    switch disposition {
    case .hold, .renewToken, .retry, .retryElsewhere: break
    case .accepted, .reject, .rejectAndAlert, .prune, .setAside: credentialsTaken()
    }
    switch disposition {
    case .accepted: push.batch.settle(push.index, .accepted)
    case .reject(let reason): push.batch.settle(push.index, .rejected(reason))
    case .rejectAndAlert(let reason):
      options.report(.configurationRejected(target.endpoint, reason: reason))
      push.batch.settle(push.index, .rejected(reason))
    case .prune(let reason):
      if let since = answer.timestamp { push.batch.condemn(push.index, .gone(since: since)) }
      push.batch.settle(push.index, .rejected(reason))
    case .setAside(let reason):
      push.batch.condemn(push.index, .unusable(reason))
      push.batch.settle(push.index, .rejected(reason))
    case .retry: retryLater(push)
    case .retryElsewhere(let reason):
      connection.retire(reason.name)
      retryLater(push)
    case .renewToken: renewToken(push, connection, token)
    case .hold(let reason):
      hold(reason)
      retryLater(push, notBefore: heldUntil)
    }
  }

  private func renewToken(
    _ push: ReadyPush, _ connection: APNsConnection, _ token: ProviderToken
  ) {
    let wall = options.wallClock()
    if let renewed = try? tokens.replacement(for: token, now: wall), renewed !== token {
      connection.retire("ExpiredProviderToken")
      retryLater(push)
    } else {
      // A token this young cannot have expired: our clock or Apple's is wrong.
      hold(.expiredProviderToken)
      retryLater(push, notBefore: heldUntil)
    }
  }

  /// Nothing is sent for a while, and then one push at a time until our credentials are taken.
  func hold(_ reason: RejectionReason) {
    isProbing = true
    guard loop.now >= heldUntil else { return }
    heldUntil = loop.now &+ options.credentialHold.nanoseconds
    options.report(.held(target.endpoint, reason: reason, until: options.credentialHold))
    scheduleRetries()
  }

  private func retryLater(_ push: ReadyPush, notBefore: UInt64 = 0) {
    let remaining = push.batch.headers.expiresAt - options.wallClock()
    let decision = options.retry.decide(
      tries: push.tries, remainingMilliseconds: remaining, chance: random.next())
    switch decision {
    case .expire: push.batch.settle(push.index, .expired)
    case .retry(let delay):
      let due = max(loop.now &+ delay.nanoseconds, notBefore)
      // Not beyond its expiry, also while nothing is sent: it gets its outcome then.
      let expiry = loop.now &+ Duration.milliseconds(remaining).nanoseconds
      retries.append(push, due: min(due, expiry))
      schedulePump()
    }
  }
}
