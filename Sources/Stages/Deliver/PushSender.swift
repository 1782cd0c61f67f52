import Model

/// Hands out what is ready to connections, as many as each takes.
final class PushSender {
  /// Common to all pushes of one round of handing out.
  struct Round {
    let now: UInt64
    let wall: Int64
    let credential: any Credential
  }

  private let queue: FairQueue
  private let traffic: RouteTraffic
  private let account: any PlatformAccount
  private let waiting: RouteWaiting
  /// Of the pushes that were sent last.
  private var lastEncoded: SharedHeaders?
  /// By fan-out.
  private var encoded: [ObjectIdentifier: SharedHeaders] = [:]

  init(_ context: RouteContext, waiting: RouteWaiting) {
    queue = context.queue
    traffic = context.traffic
    account = context.account
    self.waiting = waiting
  }

  func fill(_ connection: any PushConnection, _ round: Round) {
    guard connection.isAlive(at: round.now) else { return }
    var capacity = min(
      connection.capacity, traffic.inFlightLimit(at: round.now) - connection.inFlight)
    if traffic.overload.rate != nil, capacity > 0 {
      let ready = queue.sendableCount(at: round.now)
      capacity = min(capacity, traffic.overload.allowance(ready: ready, at: round.now))
    }
    if let limit = traffic.limit { capacity = min(capacity, limit.tokens) }
    let turn = traffic.pushesPerTurn
    while capacity > 0 {
      guard let (topic, left) = queue.next(at: round.now, length: turn),
        let run = topic.upcoming(atMost: min(capacity, left), turn: turn)
      else { break }
      guard mayGo(run.first, round) else {
        topic.drop(run, 1)
        topic.left(run.first)
        withhold(run.first, round)
        continue
      }
      let taken = dispatch(run, of: topic, on: connection, round)
      guard taken > 0 else { break }
      queue.took(taken)
      capacity -= taken
    }
    if capacity > 0 { queue.lack() }
    if let limit = traffic.limit, limit.tokens <= 0, queue.sendableCount(at: round.now) > 0 {
      limit.lack()
    }
  }

  func mayGo(_ push: ReadyPush, _ round: Round) -> Bool {
    push.batch.headers.expiresAt > round.wall && push.tally.sendableUntil > round.now
      && push.tally.fanOut.halt == nil
  }

  /// A push that is too late gets its outcome, one of a paused fan-out leaves its segment; one
  /// whose segment may be another worker's by now waits until that is known.
  func withhold(_ push: ReadyPush, _ round: Round) {
    guard !push.batch.isOver(at: round.wall) else { return push.settleExpiredOrCancelled() }
    guard push.tally.fanOut.halt == nil else { return waiting.postpone(push) }
    waiting.park(push, until: round.now &+ Evidence.askAgainAfter)
  }

  /// How many pushes of a run have left; 0: the connection takes no more, and all is as it was.
  func dispatch(
    _ run: ReadyRun, of topic: TopicQueue, on connection: any PushConnection,
    _ round: Round
  ) -> Int {
    let isCredentialCheck = !topic.gate.isOpen
    let headers = encode(run.first.batch, round.credential)
    let (sent, end) = connection.send(
      run, headers: headers, isCredentialCheck: isCredentialCheck, now: round.now)
    var left = sent
    if case .refusedHeaders = end { left += 1 }
    topic.drop(run, left)
    if sent > 0 {
      if isCredentialCheck { topic.gate.checkSent(at: round.now) }
      traffic.sent(sent, at: round.now)
      let tally = run.first.tally
      tally.fanOut.sent(sent)
      if queue.outliers.contains(tally.fanOut) { queue.outliers.sent(sent) }
      if tally.firstPushAt == 0 { tally.firstPushAt = round.wall }
      tally.lastPushAt = round.wall
      if run.first.wasRequested { tally.retried += sent }
      topic.left(run.first, count: sent)
    }
    switch end {
    case .allSent, .full: break
    case .refusedHeaders:
      topic.left(run.first)
      run.first.batch.settle(run.first.index + sent, .rejected(.unrenderable))
    case .usedUp(let reason): connection.retire(reason)
    }
    return left
  }

  /// The bytes of a fan-out's headers; they are kept, since fan-outs take turns.
  private func encode(_ batch: PushBatch, _ credential: any Credential) -> SharedHeaders {
    let headers = batch.headers
    if let last = lastEncoded, last.credential === credential, last.headers == headers {
      return last
    }
    let id = ObjectIdentifier(batch.tally.fanOut)
    if let found = encoded[id], found.credential === credential, found.headers == headers {
      lastEncoded = found
      return found
    }
    let made = account.encode(headers, credential)
    if encoded.count >= Evidence.mostRemembered { encoded.removeAll() }
    encoded[id] = made
    lastEncoded = made
    return made
  }
}
