/// The faults of a request, in the order in which it is looked at: of several faults the
/// first is answered. Apple does not document its order; ours goes from the outside in.
enum RequestFault: UInt32, CaseIterable {
  case method, path, duplicateField
  case badCertificate, badCertificateEnvironment
  case missingProviderToken, invalidProviderToken, expiredProviderToken, unrelatedProviderToken
  case tooManyProviderTokens
  case missingDeviceToken, badDeviceToken
  case missingTopic, badTopic, badPushType, disallowedTopic
  case badIdentifier, badExpiration, badPriority, badCollapseIdentifier
  case emptyPayload, largePayload

  var bit: UInt32 { 1 << rawValue }

  /// The bits of those with which a request shows no valid provider token.
  static let ofProviderToken =
    missingProviderToken.bit | invalidProviderToken.bit | expiredProviderToken.bit
    | unrelatedProviderToken.bit | tooManyProviderTokens.bit

  var reason: AppleReason {
    switch self {
    case .method: .methodNotAllowed
    case .path: .badPath
    case .duplicateField: .duplicateHeaders
    case .badCertificate: .badCertificate
    case .badCertificateEnvironment: .badCertificateEnvironment
    case .missingProviderToken: .missingProviderToken
    case .invalidProviderToken: .invalidProviderToken
    case .expiredProviderToken: .expiredProviderToken
    case .unrelatedProviderToken: .unrelatedKeyIdInToken
    case .tooManyProviderTokens: .tooManyProviderTokenUpdates
    case .missingDeviceToken: .missingDeviceToken
    case .badDeviceToken: .badDeviceToken
    case .missingTopic: .missingTopic
    case .badTopic: .badTopic
    case .badPushType: .invalidPushType
    case .disallowedTopic: .topicDisallowed
    case .badIdentifier: .badMessageId
    case .badExpiration: .badExpirationDate
    case .badPriority: .badPriority
    case .badCollapseIdentifier: .badCollapseId
    case .emptyPayload: .payloadEmpty
    case .largePayload: .payloadTooLarge
    }
  }

  init?(providerToken reason: AppleReason) {
    switch reason {
    case .missingProviderToken: self = .missingProviderToken
    case .invalidProviderToken: self = .invalidProviderToken
    case .expiredProviderToken: self = .expiredProviderToken
    case .unrelatedKeyIdInToken: self = .unrelatedProviderToken
    case .tooManyProviderTokenUpdates: self = .tooManyProviderTokens
    default: return nil
    }
  }
}
