import Deliver
import Subscriptions
import Threads
import Transport

/// All push services of the browsers, as an application's VAPID keys see them: each origin is one
/// server. Shared by the lanes of a worker.
package final class WebPushServices: PushServices {
  /// Accounts of origins that are kept at most. One holds a token, which a service wants to see for
  /// hours, so it outlives the routes.
  private static let mostAccounts = 1024

  private struct State {
    var accounts: [String: WebPushCredentials] = [:]
    /// Origins in the order in which routes to them were made last.
    var order: [String] = []
  }

  private let keys: VAPIDKeyRing
  let encryption: MessageEncryption
  let rules: EndpointRules
  private let wallClock: @Sendable () -> Int64
  private let monotonic: @Sendable () -> UInt64
  private let state = ThreadLock(State())

  /// - Parameters:
  ///   - rules: which services may be sent to.
  ///   - wallClock: ms since 1970.
  ///   - monotonic: nanoseconds of a clock that nobody sets.
  package init(
    _ keys: VAPIDKeyRing, _ encryption: MessageEncryption, rules: EndpointRules,
    wallClock: @escaping @Sendable () -> Int64, monotonic: @escaping @Sendable () -> UInt64
  ) {
    self.keys = keys
    self.encryption = encryption
    self.rules = rules
    self.wallClock = wallClock
    self.monotonic = monotonic
  }

  package var platform: String { "webpush" }

  /// Host and port, between `https://` and the path.
  package func origin(in token: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    PushEndpoint.pathOffset(in: token).map {
      UnsafeRawBufferPointer(rebasing: token[PushEndpoint.scheme.count..<$0])
    }
  }

  /// The endpoint was checked when it was bound, perhaps by other rules: it is checked again.
  package func allows(_ origin: String) -> Bool { endpoint(at: origin) != nil }

  private func endpoint(at origin: String) -> PushEndpoint? {
    try? PushEndpoint("https://\(origin)/", rules: rules)
  }

  /// Each call keeps an account, and may remove that of another origin.
  package func service(at origin: String, _ target: RouteTarget) -> PushService? {
    guard let endpoint = endpoint(at: origin) else { return nil }
    var target = target
    target.endpoint = Endpoint(host: endpoint.host, port: endpoint.port)
    return PushService(target: target, account: account(endpoint))
  }

  private func account(_ endpoint: PushEndpoint) -> WebPushCredentials {
    state.withLock { state in
      if let known = state.accounts[endpoint.origin] {
        state.order.removeAll { $0 == endpoint.origin }
        state.order.append(endpoint.origin)
        return known
      }
      if state.order.count >= Self.mostAccounts {
        state.accounts[state.order.removeFirst()] = nil
      }
      let account = WebPushCredentials(
        for: endpoint, keys, encryption, wallClock: wallClock, monotonic: monotonic)
      state.accounts[endpoint.origin] = account
      state.order.append(endpoint.origin)
      return account
    }
  }
}
