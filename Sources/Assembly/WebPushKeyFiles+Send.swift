import Deliver
import Model
import SingleRequests
import WebPush

/// One message by hand.
extension WebPushKeyFiles {
  /// A message as it would go out, and where to.
  package struct Single: Sendable {
    /// Says what the service's answers mean, as it says to a worker.
    package let account: any PlatformAccount
    package let target: RouteTarget
    /// Without the VAPID token.
    package let request: AppleRequest
    fileprivate let authorization: String
  }

  /// - Parameters:
  ///   - binding: of a `BrowserSubscription`.
  ///   - target: `DeliverOptions.routes` of Web Push.
  ///   - now: ms since 1970.
  /// - Returns: nil where the endpoint is refused, the message too long, or the keys are of no use.
  package func seal(
    _ message: String, for binding: Binding, _ headers: PushHeaders, to target: RouteTarget,
    now: Int64
  ) throws(CredentialProblem) -> Single? {
    try services.seal(message, for: binding, headers, to: target, now: now).map { found in
      Single(
        account: found.service.account, target: found.service.target,
        request: AppleRequest(
          method: "POST", authority: found.message.authority, path: found.message.path,
          fields: found.message.fields.map { .init($0.name, $0.value) },
          sealedBody: found.message.body),
        authorization: found.message.authorization)
    }
  }
}

extension WebPushKeyFiles.Single {
  /// On a connection of its own, which obeys the rules for addresses, and speaks HTTP/2 alone.
  package func send(timeout: Duration) async -> AppleReply {
    await SingleRequest.ask(
      request, on: target, authorization: authorization, timeout: timeout)
  }
}
