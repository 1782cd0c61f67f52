/// Apple's reasons for refusing requests about channels, and broadcasts ("Handling error responses
/// from Apple Push Notification service", the table of broadcasts). The simulator's own table, as
/// `AppleReason` is.
package enum BroadcastReason: String, Sendable, CaseIterable {
  case featureNotEnabled = "FeatureNotEnabled"
  case missingChannelId = "MissingChannelId"
  case badChannelId = "BadChannelId"
  case channelNotRegistered = "ChannelNotRegistered"
  case badRequestParams = "BadRequestParams"
  case badRequestPayload = "BadRequestPayload"
  case payloadEmpty = "PayloadEmpty"
  case badMessageId = "BadMessageId"
  case missingPushType = "MissingPushType"
  case invalidPushType = "InvalidPushType"
  case cannotCreateChannelConfig = "CannotCreateChannelConfig"
  case badExpirationDate = "BadExpirationDate"
  case topicDisallowed = "TopicDisallowed"
  case badPriority = "BadPriority"
  case badCertificate = "BadCertificate"
  case badCertificateEnvironment = "BadCertificateEnvironment"
  case topicMismatch = "TopicMismatch"
  case missingProviderToken = "MissingProviderToken"
  case expiredProviderToken = "ExpiredProviderToken"
  case invalidProviderToken = "InvalidProviderToken"
  case badPath = "BadPath"
  case methodNotAllowed = "MethodNotAllowed"
  case payloadTooLarge = "PayloadTooLarge"
  case tooManyRequests = "TooManyRequests"
  case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
  case internalServerError = "InternalServerError"
  /// Apple's table spells it "Service Unavailable" in one place and `ServiceError` in another.
  case serviceError = "ServiceError"
  case shutdown = "Shutdown"

  package var status: Int {
    switch self {
    case .badCertificate, .badCertificateEnvironment, .topicMismatch, .missingProviderToken,
      .expiredProviderToken, .invalidProviderToken:
      403
    case .badPath: 404
    case .methodNotAllowed: 405
    case .payloadTooLarge: 413
    case .tooManyRequests, .tooManyProviderTokenUpdates: 429
    case .internalServerError: 500
    case .serviceError, .shutdown: 503
    default: 400
    }
  }

  init?(credentials fault: RequestFault) {
    switch fault {
    case .badCertificate: self = .badCertificate
    case .badCertificateEnvironment: self = .badCertificateEnvironment
    case .missingProviderToken: self = .missingProviderToken
    case .invalidProviderToken, .unrelatedProviderToken: self = .invalidProviderToken
    case .expiredProviderToken: self = .expiredProviderToken
    case .tooManyProviderTokens: self = .tooManyProviderTokenUpdates
    default: return nil
    }
  }
}
