import TLS
import Threads

/// Browsers by number, for audiences that are made up: their subscriptions are those that a
/// simulator with the same seed knows (`NumberedSubscriptions`), at the services of the four
/// browsers in turn.
package final class SimulatedBrowsers: Sendable {
  package static let hosts = [
    "fcm.googleapis.com", "updates.push.services.mozilla.com", "web.push.apple.com",
    "wns2-by3p.notify.windows.com",
  ]

  private let subscriptions: ThreadLock<NumberedSubscriptions>

  package init(seed: UInt64) throws(TLSError) {
    subscriptions = ThreadLock(try NumberedSubscriptions(seed: seed))
  }

  /// - Parameters:
  ///   - number: from 0 on.
  ///   - isGone: the simulator answers it as gone, on every try.
  /// - Returns: a subscription without an endpoint when OpenSSL fails.
  package func subscription(_ number: Int, isGone: Bool) -> SimulatedSubscription {
    let host = Self.hosts[(number / Self.hosts.count + number) % Self.hosts.count]
    let made = subscriptions.withLock {
      try? $0.subscription(number, host: host, isGone ? MagicFault(.gone) : nil)
    }
    return made ?? SimulatedSubscription(endpoint: "", publicKey: [], secret: [])
  }
}
