import EventLoop
import Model

/// Our credentials on a route, and whether they are taken for each topic (`CredentialGate`).
final class RouteCredentials {
  private let context: RouteContext
  private let waiting: RouteWaiting
  /// A topic's credentials were refused lately.
  private(set) var isWatching = false

  init(_ context: RouteContext, waiting: RouteWaiting) {
    self.context = context
    self.waiting = waiting
  }

  /// Nil while there is nothing that the platform could take.
  func credential(now: UInt64) -> (any Credential)? {
    guard now >= context.openness.lack?.until ?? 0 else { return nil }
    do {
      let credential = try context.account.credential(now: context.options.wallClock())
      context.openness.lack = nil
      return credential
    } catch {
      let until = error.mayEndAtOnce ? now : now &+ context.options.credentialHold.nanoseconds
      context.openness.lack = (error.kind, error.reason, until)
      context.signals.whenOpennessMayHaveChanged()
      return nil
    }
  }

  /// The platform says that the credential of a push has expired.
  func renew(
    _ push: ReadyPush, _ reason: RejectionReason, _ connection: any PushConnection,
    _ item: StreamSlots.Slot
  ) {
    guard
      context.account.replacement(for: item.headers.credential, now: context.options.wallClock())
        != nil
    else {
      // One this young cannot have expired: our clock or theirs is wrong, if ours is on it.
      let kind: RouteObstacle.Kind =
        context.account.datesCredentials ? .clocksDiffer : .credentialsRefused
      return refused(push, reason, sentAt: item.sentAt, kind: kind)
    }
    connection.retire(reason.name)
    var push = push
    push.history.countTry()
    waiting.scheduleRetry(push, tries: 1)
  }

  // MARK: answers

  func taken(by push: ReadyPush, sentAt: UInt64) {
    guard let topic = context.queue.find(push.topic) else { return }
    if push.isCredentialCheck { topic.gate.checkReturned() }
    guard topic.gate.taken(sentAt: sentAt) else { return }
    context.obstacles.noLongerRefused(topic)
    context.signals.whenOpennessMayHaveChanged()
    context.signals.schedulePump()
  }

  /// Whether a push that was refused before, and is refused again, is alone with that.
  func areTaken(butFor push: ReadyPush) -> Bool {
    context.queue.find(push.topic)?.gate.isAboutOnePush(refusals: Int(push.history.refusals) + 1)
      == true
  }

  func refused(
    _ push: ReadyPush, _ reason: RejectionReason, _ unknown: UnknownAnswer? = nil, sentAt: UInt64,
    kind: RouteObstacle.Kind = .credentialsRefused
  ) {
    var push = push
    push.history.countRefusal()
    isWatching = true
    let topic = context.queue.topic(named: push.topic)
    let tries = Int(push.history.refusals)
    let heldUntil = topic.gate.refused(
      refusals: tries, sentAt: sentAt, at: context.loop.now,
      hold: context.options.credentialHold.nanoseconds)
    if heldUntil != nil {
      context.obstacles.refused(topic, kind, reason: unknown?.words ?? reason.name)
      context.signals.whenOpennessMayHaveChanged()
    }
    waiting.scheduleRetry(push, tries: tries, notBefore: heldUntil ?? 0)
    context.signals.schedulePump()
  }

  /// Forgets topics that have been idle for long.
  func forget(at now: UInt64) {
    for topic in context.queue.forget(at: now) { context.obstacles.noLongerRefused(topic) }
    isWatching = context.queue.topics.contains { $0.gate.isWatching }
  }
}
