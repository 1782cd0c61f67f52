import Model

/// What a rejection means, by its reason, and what to do.
enum RejectionWords {
  static func of(_ reason: String) -> Finding {
    let known = RejectionReason.allCases.first { $0.name == reason }
    return Finding(
      .rejected, reason: reason,
      known.map { explanation(of: $0) }
        ?? "Apple rejected the push (\(reason))",
      next: known.map { next(after: $0) } ?? "look the reason up in docs/operations.md")
  }

  private static func explanation(of reason: RejectionReason) -> String {
    switch reason {
    case .unregistered, .expiredToken:
      "Apple says that the token is gone: the app was deleted from the device, or got another token"
    case .badDeviceToken:
      "Apple says that the token is none, or not of this environment"
    case .deviceTokenNotForTopic: "Apple says that the token is not for this topic"
    case .payloadTooLarge, .unrenderable: "the payload does not fit into what Apple takes"
    case .noRoute: "no credentials are configured for the app, or no server for the environment"
    case .unanswered:
      "the push was sent, and Apple never answered: the device may have got it"
    case .unwritable: "the push had to wait, and Kafka took no record with it"
    case .proxyAnswered: "a proxy on the way to Apple answered, and not Apple"
    case .tooManyRequests: "Apple said again and again that this device gets too many pushes"
    case .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden,
      .invalidProviderToken, .missingProviderToken, .unrelatedKeyIdInToken,
      .badEnvironmentKeyIdInToken, .tooManyProviderTokenUpdates:
      "Apple did not take our credentials (\(reason.name))"
    case .internalServerError, .serviceUnavailable, .shutdown, .idleTimeout:
      "Apple could not take the push, however often it was sent (\(reason.name))"
    case .topicDisallowed, .badTopic, .missingTopic:
      "Apple does not let us send to this topic (\(reason.name))"
    case .badCollapseId, .badExpirationDate, .badMessageId, .badPriority, .duplicateHeaders,
      .invalidPushType, .missingDeviceToken, .payloadEmpty, .badPath, .methodNotAllowed, .other:
      "Apple rejected the push (\(reason.name))"
    }
  }

  private static func next(after reason: RejectionReason) -> String {
    switch reason {
    case .unregistered, .expiredToken:
      "nothing: it is taken out unless it was bound since; the app binds a token at its next start"
    case .badDeviceToken:
      "see that the device is bound with the environment that its build was signed for; then "
        + "fanfare device restore"
    case .deviceTokenNotForTopic:
      "see that the device is bound with its app's topic; then fanfare device restore"
    case .payloadTooLarge, .unrenderable:
      "let the template shorten a text (docs/templates.md), or send less"
    case .noRoute: "name the app in apns.apps, or set apns.key_file; fanfare check"
    case .unanswered: "nothing; if there are many, look at the network to Apple"
    case .unwritable: "let Kafka take larger records (kafka.maximum_event_bytes, max.message.bytes)"
    case .proxyAnswered: "look at apns.*.host and at what is in between: the log has the status"
    case .tooManyRequests: "send this user fewer pushes (rules.events_per_hour, collapse_id)"
    case .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden,
      .invalidProviderToken, .missingProviderToken, .unrelatedKeyIdInToken,
      .badEnvironmentKeyIdInToken, .tooManyProviderTokenUpdates, .topicDisallowed, .badTopic,
      .missingTopic:
      "mend the credentials of the app: fanfare check and fanfare send say what is wrong"
    case .internalServerError, .serviceUnavailable, .shutdown, .idleTimeout:
      "nothing; look at Apple's system status if there are many"
    case .badCollapseId, .badExpirationDate, .badMessageId, .badPriority, .duplicateHeaders,
      .invalidPushType, .missingDeviceToken, .payloadEmpty, .badPath, .methodNotAllowed, .other:
      "fanfare send shows the request and Apple's answer; look at the template"
    }
  }
}
