import Model

/// Apple's reasons ("Handling notification responses from APNs"); `Platform.apns` names them.
extension RejectionReason {
  package static let badCollapseId = apple("BadCollapseId")
  package static let badDeviceToken = apple("BadDeviceToken")
  package static let badExpirationDate = apple("BadExpirationDate")
  package static let badMessageId = apple("BadMessageId")
  package static let badPriority = apple("BadPriority")
  package static let badTopic = apple("BadTopic")
  package static let deviceTokenNotForTopic = apple("DeviceTokenNotForTopic")
  package static let duplicateHeaders = apple("DuplicateHeaders")
  package static let idleTimeout = apple("IdleTimeout")
  package static let invalidPushType = apple("InvalidPushType")
  package static let missingDeviceToken = apple("MissingDeviceToken")
  package static let missingTopic = apple("MissingTopic")
  package static let payloadEmpty = apple("PayloadEmpty")
  package static let topicDisallowed = apple("TopicDisallowed")
  package static let badCertificate = apple("BadCertificate")
  package static let badCertificateEnvironment = apple("BadCertificateEnvironment")
  package static let expiredProviderToken = apple("ExpiredProviderToken")
  package static let forbidden = apple("Forbidden")
  package static let invalidProviderToken = apple("InvalidProviderToken")
  package static let missingProviderToken = apple("MissingProviderToken")
  package static let unrelatedKeyIdInToken = apple("UnrelatedKeyIdInToken")
  package static let badEnvironmentKeyIdInToken = apple("BadEnvironmentKeyIdInToken")
  package static let badPath = apple("BadPath")
  package static let methodNotAllowed = apple("MethodNotAllowed")
  package static let expiredToken = apple("ExpiredToken")
  package static let unregistered = apple("Unregistered")
  package static let payloadTooLarge = apple("PayloadTooLarge")
  package static let tooManyProviderTokenUpdates = apple("TooManyProviderTokenUpdates")
  package static let tooManyRequests = apple("TooManyRequests")
  package static let internalServerError = apple("InternalServerError")
  package static let serviceUnavailable = apple("ServiceUnavailable")
  package static let shutdown = apple("Shutdown")

  private static let apples = Dictionary(
    uniqueKeysWithValues: all(of: .apns).map { ($0.name, $0) })

  /// From an answer's reason: `.other` for one that Apple does not document, our own names too.
  package static func apple(_ name: String) -> RejectionReason { apples[name] ?? .other }
}
