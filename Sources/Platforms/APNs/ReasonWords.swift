import Model

/// What an answer of Apple's means and what a person does about it, for whoever looks at a single
/// push: the other half of `RejectionTable`, which says what the worker does. After "Handling
/// notification responses from APNs".
package struct ReasonWords: Sendable, Equatable {
  /// What Apple says with it; nil where the reason is ours.
  package let status: Int?
  package let meaning: String
  package let advice: String

  private init(_ status: Int?, _ meaning: String, _ advice: String) {
    self.status = status
    self.meaning = meaning
    self.advice = advice
  }

  package static let accepted = ReasonWords(
    200, "Apple accepted the push, which does not mean that it was delivered",
    "if nothing appears: may the app show notifications, is a Focus on, and is this the app's "
      + "newest token on the device?")

  /// What a reason means to whoever configures, writes templates or looks after tokens.
  package init(_ reason: RejectionReason) {
    self =
      switch reason {
      case .badDeviceToken, .deviceTokenNotForTopic, .expiredToken, .unregistered:
        Self.ofToken(reason)
      case .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden,
        .invalidProviderToken, .missingProviderToken, .unrelatedKeyIdInToken,
        .badEnvironmentKeyIdInToken, .tooManyProviderTokenUpdates:
        Self.ofCredentials(reason)
      case .tooManyRequests, .internalServerError, .serviceUnavailable, .shutdown, .idleTimeout:
        Self.ofTheMoment(reason)
      case .other, .unrenderable, .noRoute, .unanswered, .unwritable, .proxyAnswered:
        Self.ofOurs(reason)
      default: Self.ofRequest(reason)
      }
  }

  private static func ofToken(_ reason: RejectionReason) -> ReasonWords {
    switch reason {
    case .badDeviceToken:
      ReasonWords(
        400, "the token is not valid, or belongs to the other environment",
        "is the token complete? Tokens of builds from Xcode are for the sandbox, those of "
          + "TestFlight and the App Store for production")
    case .deviceTokenNotForTopic:
      ReasonWords(
        400, "the token belongs to a different app than the topic",
        "compare the topic with the bundle id of the app that printed the token")
    case .expiredToken:
      ReasonWords(
        410, "the token has expired; the device may have a new one",
        "remove it if it was registered before the timestamp; the app registers again when it "
          + "starts")
    default:
      ReasonWords(
        410, "the token is no longer active: the app was removed, or may not notify any more",
        "remove it if it was registered before the timestamp")
    }
  }

  private static func ofCredentials(_ reason: RejectionReason) -> ReasonWords {
    switch reason {
    case .badCertificate:
      ReasonWords(
        403, "the client certificate is not valid", "renew it in the Apple developer account")
    case .badCertificateEnvironment:
      ReasonWords(
        403, "the client certificate is for the other environment",
        "a development certificate is only for the sandbox: choose the certificate's environment")
    case .expiredProviderToken:
      ReasonWords(
        403, "the provider token is older than an hour",
        "check this machine's clock, because Fanfare renews the token long before that")
    case .invalidProviderToken:
      ReasonWords(
        403, "the provider token's signature, key id or team id is wrong",
        "do apns.key_id and apns.team_id belong to apns.key_file, is the key still valid, and is "
          + "the clock right?")
    case .missingProviderToken:
      ReasonWords(
        403, "the push had neither a provider token nor a client certificate",
        "set apns.key_file, apns.key_id and apns.team_id")
    case .unrelatedKeyIdInToken:
      ReasonWords(
        403, "the connection was already used with a key of another team or for other topics",
        "use one key for a connection, or a key that is for all of the team's topics")
    case .badEnvironmentKeyIdInToken:
      ReasonWords(
        403, "the key is for the other environment",
        "choose the environment that the key was made for, or create a key for this one")
    case .tooManyProviderTokenUpdates:
      ReasonWords(
        429, "the provider token was renewed more than once in 20 minutes",
        "wait 20 minutes; who else signs with this key?")
    default:
      ReasonWords(
        403, "Apple forbids this push; it does not say why",
        "check the state of the app and of the key in the Apple developer account")
    }
  }

  private static func ofTheMoment(_ reason: RejectionReason) -> ReasonWords {
    switch reason {
    case .tooManyRequests:
      ReasonWords(
        429, "this device was sent too many pushes in a short time", "wait before the next one")
    case .internalServerError:
      ReasonWords(500, "Apple's server failed", "try again; Apple recommends after 15 minutes")
    case .serviceUnavailable:
      ReasonWords(
        503, "Apple's service is not available", "try again; Apple recommends after 15 minutes")
    case .shutdown:
      ReasonWords(
        503, "this Apple server is shutting down", "try again: another server will answer")
    default:
      ReasonWords(
        400, "the connection was idle for too long",
        "try again: the connection will be a new one")
    }
  }

  private static func ofRequest(_ reason: RejectionReason) -> ReasonWords {
    switch reason {
    case .badCollapseId:
      ReasonWords(400, "the collapse id is longer than 64 bytes", "shorten it")
    case .badExpirationDate:
      ReasonWords(
        400, "apns-expiration is not a time in seconds since 1970, or is too far ahead",
        "use 0, or a time within the next 30 days")
    case .badMessageId:
      ReasonWords(400, "apns-id is not a UUID", "leave it out, or send 8-4-4-4-12 hex digits")
    case .badPriority:
      ReasonWords(
        400, "the priority is not 10, 5 or 1, or is not allowed for this push type",
        "use 5 for a background push")
    case .badTopic:
      ReasonWords(
        400, "the topic is not valid",
        "use the app's bundle id with the push type's suffix")
    case .duplicateHeaders:
      ReasonWords(
        400,
        "the request had a header twice", "check what is between this machine and Apple")
    case .invalidPushType:
      ReasonWords(400, "there is no such push type", "choose one of Apple's")
    case .missingDeviceToken:
      ReasonWords(400, "the path names no device", "the path is /3/device/ and the token")
    case .missingTopic:
      ReasonWords(400, "apns-topic is missing, or the certificate has several", "name the app")
    case .payloadEmpty: ReasonWords(400, "there is no payload", "send a JSON object with aps")
    case .topicDisallowed:
      ReasonWords(
        400, "pushes to this topic are not allowed",
        "does the key's team own the bundle id, does the app have the push capability, and does "
          + "the topic's suffix fit the push type?")
    case .badPath: ReasonWords(404, "there is no such path", "the path is /3/device/ and the token")
    case .methodNotAllowed:
      ReasonWords(
        405, "the method is not POST",
        "check what is between this machine and Apple")
    default:
      ReasonWords(
        413, "the payload is over Apple's limit",
        "use at most 4,096 bytes, or 5,120 for voip pushes")
    }
  }

  private static func ofOurs(_ reason: RejectionReason) -> ReasonWords {
    switch reason {
    case .unrenderable:
      ReasonWords(
        nil, "the payload could not be shortened to Apple's limit",
        "shorten the template's texts, or name one in shorten")
    case .noRoute:
      ReasonWords(nil, "no server is configured for the device's environment", "set its host")
    case .unanswered:
      ReasonWords(
        nil, "the push was sent and never answered; it may have arrived",
        "does Apple's service, or the network in between, have a fault?")
    case .unwritable:
      ReasonWords(
        nil,
        "the push had to wait, and Kafka did not accept a record with "
          + "it", "check the topics' limits")
    case .proxyAnswered:
      ReasonWords(
        nil, "a proxy answered instead of Apple",
        "check apns.*.host and what is between it and this machine; the log has the status")
    default:
      ReasonWords(
        nil, "Apple does not document this answer",
        "check whether Apple answers, or something in between")
    }
  }
}
