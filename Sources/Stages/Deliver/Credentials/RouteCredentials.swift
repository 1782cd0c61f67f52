import EventLoop
import Model

/// Whether our credentials are taken, topic by topic, and what proves who we are. What a
/// refusal means is `CredentialGate`'s.
final class RouteCredentials {
  private let options: DeliverOptions
  private let loop: EventLoop
  private let account: any PlatformAccount
  private let topics: RouteTopics
  private let obstacles: RouteObstacles
  private let openness: RouteOpenness
  private let waiting: RouteWaiting
  private let signals: RouteSignals
  /// A topic's credentials were refused lately.
  private(set) var isWatching = false

  init(
    _ setup: RouteSetup, topics: RouteTopics, obstacles: RouteObstacles,
    openness: RouteOpenness, waiting: RouteWaiting, signals: RouteSignals
  ) {
    options = setup.options
    loop = setup.loop
    account = setup.account
    self.topics = topics
    self.obstacles = obstacles
    self.openness = openness
    self.waiting = waiting
    self.signals = signals
  }

  // MARK: what we send with

  /// Nil while there is nothing that the platform could take.
  func credential(now: UInt64) -> (any Credential)? {
    guard openness.mayMakeProof(at: now) else { return nil }
    do {
      let credential = try account.credential(now: options.wallClock())
      openness.hasProof()
      return credential
    } catch {
      let until = error.mayEndAtOnce ? now : now &+ options.credentialHold.nanoseconds
      openness.lacksProof(error.kind, error.reason, until: until)
      signals.whenOpennessMayHaveChanged()
      return nil
    }
  }

  /// The platform says that what a push was sent with has expired.
  /// - Parameter item: what it was sent with.
  func renew(
    _ push: ReadyPush, _ reason: RejectionReason, _ connection: any PushConnection,
    _ item: StreamSlots.Slot
  ) {
    guard
      account.replacement(for: item.headers.credential, now: options.wallClock()) != nil
    else {
      // One this young cannot have expired: our clock or theirs is wrong.
      return refused(push, reason, sentAt: item.sentAt, kind: .clocksDiffer)
    }
    connection.retire(reason.name)
    var push = push
    push.history.countTry()
    waiting.waitOut(push, tries: 1)
  }

  // MARK: answers

  func taken(by push: ReadyPush, sentAt: UInt64) {
    guard let topic = topics.find(push.topic) else { return }
    if push.isProbe { topic.gate.probeReturned() }
    guard topic.gate.taken(sentAt: sentAt) else { return }
    obstacles.noLongerRefused(topic)
    signals.whenOpennessMayHaveChanged()
    signals.schedulePump()
  }

  /// - Parameter unknown: what was said, where the platform does not document it.
  func refused(
    _ push: ReadyPush, _ reason: RejectionReason, _ unknown: UnknownAnswer? = nil, sentAt: UInt64,
    kind: RouteObstacle.Kind = .credentialsRefused
  ) {
    var push = push
    push.history.countRefusal()
    isWatching = true
    let topic = topics.topic(named: push.topic)
    let verdict = topic.gate.refused(
      refusals: Int(push.history.refusals), sentAt: sentAt, at: loop.now,
      hold: options.credentialHold.nanoseconds)
    switch verdict {
    case .wait: waiting.waitOut(push, tries: Int(push.history.refusals))
    case .hold(let until):
      obstacles.refused(topic, kind, reason: unknown?.words ?? reason.name)
      signals.whenOpennessMayHaveChanged()
      waiting.waitOut(push, tries: Int(push.history.refusals), notBefore: until)
    }
    signals.schedulePump()
  }

  // MARK: time

  /// A server that is in doubt about us may also be one that does not answer everybody: a topic's
  /// pushes do not wait for the time-out of a few.
  func askElsewhere(than connections: [any PushConnection], at now: UInt64) {
    for topic in topics.all where topic.gate.isWatching {
      let answerTime = min(topic.gate.answerTime, options.requestTimeout.nanoseconds)
      let oldest = connections.compactMap { $0.oldestProbe(of: topic.name) }.min()
      guard let oldest, now &- oldest >= answerTime else { continue }
      // Those that went a little later are of the same round.
      let givenUp = connections.reduce(0) {
        $0 + $1.giveUpProbes(of: topic.name, sentBefore: now &- answerTime / 2)
      }
      topic.gate.probesGivenUp(givenUp)
    }
  }

  /// Topics of which nothing is here are forgotten in the end.
  func forget(at now: UInt64) {
    for topic in topics.forget(at: now) { obstacles.noLongerRefused(topic) }
    isWatching = topics.all.contains { $0.gate.isWatching }
  }
}
