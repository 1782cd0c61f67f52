import Model

/// FCM's reasons, most of them error codes of its API ("ErrorCode"); `Platform.fcm` names them.
extension RejectionReason {
  /// The app was uninstalled, or its token was replaced or has expired.
  static let unregistered = fcm("UNREGISTERED")
  /// The token belongs to another project.
  static let senderIDMismatch = fcm("SENDER_ID_MISMATCH")
  static let invalidArgument = fcm("INVALID_ARGUMENT")
  /// Of the project, or of whatever FCM does not say.
  static let quotaExceeded = fcm("QUOTA_EXCEEDED")
  /// FCM calls it QUOTA_EXCEEDED, too.
  static let deviceQuotaExceeded = fcm("DEVICE_QUOTA_EXCEEDED")
  static let unavailable = fcm("UNAVAILABLE")
  static let `internal` = fcm("INTERNAL")
  /// The project's credentials for Apple or for browsers are wrong.
  static let thirdPartyAuthError = fcm("THIRD_PARTY_AUTH_ERROR")
  /// Our access token is refused.
  static let unauthenticated = fcm("UNAUTHENTICATED")
  /// The API is off, or our account may not send.
  static let permissionDenied = fcm("PERMISSION_DENIED")
  /// There is no such project.
  static let notFound = fcm("NOT_FOUND")

  /// Made when first asked for, and then FCM must be known.
  private static let all: [String: RejectionReason] = {
    Destination.add(.fcm)
    return Dictionary(uniqueKeysWithValues: RejectionReason.all(of: .fcm).map { ($0.name, $0) })
  }()

  /// From an answer's word: `.other` for one that FCM does not document, our own names too.
  static func fcm(_ name: String) -> RejectionReason { all[name] ?? .other }
}
