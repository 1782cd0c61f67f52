/// A limit of pushes a second that all workers share, and what one lane may send of it at the
/// moment: the lane leases tokens, each of which is a push. Known by its identity: the fan-outs
/// that it limits, or the route, share it.
///
/// Pushes take tokens (`take`), which makes more wanted; pushes that find none lack them, and make
/// the limit short for a while. The code that asks Redis says so (`ask`) and brings the answer
/// (`grant`).
package final class PushLimit {
  package enum Subject: Hashable, Sendable {
    case app(String)
    case event(String)
    /// A unit that a platform counts pushes by, such as a project of Firebase.
    case project(String)
  }

  package let subject: Subject
  /// Pushes a second of all workers.
  package let rate: Int
  /// Pushes that may go now. Below zero: so many went beyond, because they did not ask; the next
  /// lease pays for them.
  package private(set) var tokens = 0
  /// More tokens would be used.
  package private(set) var isWanted = false
  /// Pushes wait because all tokens that there were are used.
  package private(set) var isLacking = false
  /// So it was lately.
  package private(set) var isShort = false
  private var isAnswered = false

  package init(_ subject: Subject, rate: Int) {
    self.subject = subject
    self.rate = rate
  }

  package func take(_ pushes: Int) {
    tokens -= pushes
    isWanted = true
  }

  /// Pushes wait, and there is no token for them.
  package func lack() {
    isWanted = true
    guard isAnswered else { return }
    isLacking = true
    isShort = true
  }

  // MARK: leases

  /// Tokens are asked for: whether more are wanted than those is seen from now on.
  package func ask() { isWanted = false }

  /// - Parameter pushes: none, where others have taken what there was: it is asked again.
  package func grant(_ pushes: Int) {
    isAnswered = true
    isLacking = false
    if pushes == 0 { isWanted = true }
    tokens += pushes
  }

  /// Redis gives nothing out: all that has this limit waits, as if it were used up.
  package func refuse() {
    isAnswered = true
    lack()
  }

  /// Voids leases that were not used for a while, so that lanes save up for no burst.
  package func expire() {
    guard tokens > 0 else { return }
    tokens = 0
    // Those that come next wait for a lease, not for the limit.
    isAnswered = false
  }

  /// Nothing has waited for a while.
  package func rest() { isShort = false }
}

extension PushLimit: CustomStringConvertible {
  package var description: String {
    switch subject {
    case .app(let name): "app \(name): \(rate) pushes a second"
    case .event(let id): "event \(id): \(rate) pushes a second"
    case .project(let id): "project \(id): \(rate) pushes a second"
    }
  }
}

/// Limits of pushes a second, of all workers together.
package struct PushRates: Sendable, Equatable {
  /// By the app's bundle id.
  package var apps: [String: Int] = [:]
  /// Of each event; nil: none.
  package var event: Int?

  /// More than any Redis gives out, and than one millisecond can be divided into.
  package static let maximum = 1_000_000

  package init() {}

  /// Of one event alone, the lower of what we and the event itself say; nil: none.
  package func rate(of event: Event) -> Int? {
    [self.event, event.pushesPerSecond].compactMap(\.self).min()
  }

  /// Whether an event has a limit, of its own or of its app.
  package func bounds(_ event: Event) -> Bool { rate(of: event) != nil || apps[event.app] != nil }
}
