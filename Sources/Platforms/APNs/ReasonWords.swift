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
    200, "Apple has taken the push; that is not a delivery",
    "if nothing appears: is the app allowed to notify, is a focus on, is this device's token the "
      + "app's newest?")

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
        400, "the token is none, or belongs to the other environment",
        "is it the whole token? One of a build from Xcode is for the sandbox, one of TestFlight "
          + "or the App Store for production")
    case .deviceTokenNotForTopic:
      ReasonWords(
        400, "the token belongs to another app than the topic names",
        "compare the topic with the bundle id of the app that printed the token")
    case .expiredToken:
      ReasonWords(
        410, "the token has expired; a new one may stand for the device",
        "remove it if it was registered before the timestamp; the app registers again when it "
          + "starts")
    default:
      ReasonWords(
        410, "the app no longer takes pushes for this token: removed, or its permission gone",
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
        "a development certificate is for the sandbox alone: choose the environment it is for")
    case .expiredProviderToken:
      ReasonWords(
        403, "the provider token is older than an hour",
        "it is renewed long before that, so look at this machine's clock")
    case .invalidProviderToken:
      ReasonWords(
        403, "the provider token's signature, key id or team id is not right",
        "do apns.key_id and apns.team_id belong to apns.key_file, is the key not revoked, and is "
          + "the clock right?")
    case .missingProviderToken:
      ReasonWords(
        403, "no provider token and no client certificate came with the push",
        "set apns.key_file, apns.key_id and apns.team_id")
    case .unrelatedKeyIdInToken:
      ReasonWords(
        403, "the connection was used with a key of another team or for other topics before",
        "use one key for a connection, or a key that is for all of the team's topics")
    case .badEnvironmentKeyIdInToken:
      ReasonWords(
        403, "the key is for the other environment",
        "choose the environment that the key was made for, or make a key for this one")
    case .tooManyProviderTokenUpdates:
      ReasonWords(
        429, "the provider token was renewed more than once in 20 minutes",
        "wait 20 minutes; who else signs with this key?")
    default:
      ReasonWords(
        403, "Apple forbids this push; it does not say why",
        "look at the app's and the key's state in the Apple developer account")
    }
  }

  private static func ofTheMoment(_ reason: RejectionReason) -> ReasonWords {
    switch reason {
    case .tooManyRequests:
      ReasonWords(
        429, "this device was sent too many pushes in a short time", "wait before the next one")
    case .internalServerError:
      ReasonWords(500, "Apple's server failed", "try again; Apple says after 15 minutes")
    case .serviceUnavailable:
      ReasonWords(
        503, "Apple's service is not available", "try again; Apple says after 15 minutes")
    case .shutdown:
      ReasonWords(
        503, "this server of Apple's is shutting down", "try again: another one answers")
    default:
      ReasonWords(400, "the connection was idle for too long", "try again: it is a new one")
    }
  }

  private static func ofRequest(_ reason: RejectionReason) -> ReasonWords {
    switch reason {
    case .badCollapseId:
      ReasonWords(400, "the collapse id is longer than 64 bytes", "shorten it")
    case .badExpirationDate:
      ReasonWords(
        400, "apns-expiration is no time in seconds since 1970, or too far ahead",
        "0, or a time within the next 30 days")
    case .badMessageId:
      ReasonWords(400, "apns-id is no UUID", "leave it out, or send 8-4-4-4-12 hex digits")
    case .badPriority:
      ReasonWords(
        400, "the priority is not 10, 5 or 1, or not one for this push type",
        "a background push must have 5")
    case .badTopic:
      ReasonWords(400, "the topic is not valid", "it is the app's bundle id and a suffix")
    case .duplicateHeaders: ReasonWords(400, "a header came twice", "look at what is in between")
    case .invalidPushType:
      ReasonWords(400, "there is no such push type", "choose one of Apple's")
    case .missingDeviceToken:
      ReasonWords(400, "the path names no device", "it is /3/device/ and the token")
    case .missingTopic:
      ReasonWords(400, "apns-topic is missing, or the certificate has several", "name the app")
    case .payloadEmpty: ReasonWords(400, "there is no payload", "send a JSON object with aps")
    case .topicDisallowed:
      ReasonWords(
        400, "pushes to this topic are not allowed",
        "does the key's team own the bundle id, has the app the push capability, and does the "
          + "topic's suffix fit the push type?")
    case .badPath: ReasonWords(404, "there is no such path", "it is /3/device/ and the token")
    case .methodNotAllowed: ReasonWords(405, "the method is not POST", "look at what is in between")
    default:
      ReasonWords(
        413, "the payload is over Apple's limit", "at most 4,096 bytes, of voip pushes 5,120")
    }
  }

  private static func ofOurs(_ reason: RejectionReason) -> ReasonWords {
    switch reason {
    case .unrenderable:
      ReasonWords(
        nil, "the payload could not be fitted into Apple's limit",
        "shorten the template's texts, or name one in shorten")
    case .noRoute:
      ReasonWords(nil, "no server is configured for the device's environment", "set its host")
    case .unanswered:
      ReasonWords(
        nil, "it was sent and never answered; it may have arrived",
        "is Apple's service, or the way to it, in trouble?")
    case .unwritable:
      ReasonWords(
        nil, "it had to wait, and Kafka took no record with it", "look at the topics' limits")
    case .proxyAnswered:
      ReasonWords(
        nil, "a proxy on the way to Apple answered, and not Apple",
        "what is at apns.*.host, and between it and this machine? the log has the status")
    default:
      ReasonWords(
        nil, "Apple does not document this answer",
        "is it Apple that answers, or something in between?")
    }
  }
}
