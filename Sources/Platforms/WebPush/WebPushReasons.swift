import Model

/// Why a push service rejects a message, in one vocabulary for all services, which have none in
/// common; `Platform.webpush` names them.
extension RejectionReason {
  /// 410: the subscription has ended.
  package static let gone = webPush("Gone")
  /// 404: there is no such subscription.
  package static let notFound = webPush("NotFound")
  package static let webPushTooLarge = webPush("PayloadTooLarge")
  package static let webPushTooMany = webPush("TooManyRequests")
  /// The VAPID token is missing, malformed, expired, or for another origin.
  package static let badCredentials = webPush("BadCredentials")
  /// The subscription was made with another VAPID key.
  package static let credentialsMismatch = webPush("CredentialsMismatch")
  package static let badRequest = webPush("BadRequest")
  package static let serverError = webPush("ServerError")
  package static let webPushUnavailable = webPush("ServiceUnavailable")
  /// A redirection is never followed: the service's address is part of what was checked.
  package static let redirected = webPush("Redirected")

  private static let all: [String: RejectionReason] = {
    // Whoever asks for a reason first makes the platform known.
    Destination.add(.webpush)
    return Dictionary(uniqueKeysWithValues: all(of: .webpush).map { ($0.name, $0) })
  }()

  private static func webPush(_ name: String) -> RejectionReason { all[name] ?? .other }
}
