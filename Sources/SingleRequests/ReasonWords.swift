import APNs
import Model

/// The meaning of an answer of Apple's, and advice for a person who looks at a single push: the
/// other half of `RejectionTable`, which says what the worker does. After "Handling notification
/// responses from APNs".
package struct ReasonWords: Sendable, Equatable {
  /// Apple's status; nil where the reason is ours.
  package let status: Int?
  package let meaning: String
  package let advice: String

  private init(_ status: Int?, _ meaning: String, _ advice: String) {
    self.status = status
    self.meaning = meaning
    self.advice = advice
  }

  package init(_ reason: RejectionReason) {
    let (status, meaning, advice) = Self.table[reason] ?? Self.undocumented
    self.init(status, meaning, advice)
  }

  package static let accepted = ReasonWords(
    200, "Apple accepted the push, which does not mean that it was delivered",
    "if nothing appears: may the app show notifications, is a Focus on, and is this the app's "
      + "newest token on the device?")

  private static let undocumented: (Int?, String, String) = (
    nil, "Apple does not document this answer",
    "check whether Apple answers, or something in between"
  )

  private static let table: [RejectionReason: (Int?, String, String)] = [
    .badDeviceToken: (
      400, "the token is not valid, or belongs to the other environment",
      "is the token complete? Tokens of builds from Xcode are for the sandbox, those of "
        + "TestFlight and the App Store for production"
    ),
    .deviceTokenNotForTopic: (
      400, "the token belongs to a different app than the topic",
      "compare the topic with the bundle id of the app that printed the token"
    ),
    .expiredToken: (
      410, "the token has expired; the device may have a new one",
      "remove it if it was registered before the timestamp; the app registers again when "
        + "it starts"
    ),
    .unregistered: (
      410, "the token is no longer active: the app was removed, or may not notify any more",
      "remove it if it was registered before the timestamp"
    ),
    .badCertificate: (
      403, "the client certificate is not valid",
      "renew it in the Apple developer account"
    ),
    .badCertificateEnvironment: (
      403, "the client certificate is for the other environment",
      "a development certificate is only for the sandbox: choose the certificate's environment"
    ),
    .expiredProviderToken: (
      403, "the provider token is older than an hour",
      "check this machine's clock, because Fanfare renews the token long before that"
    ),
    .invalidProviderToken: (
      403, "the provider token's signature, key id or team id is wrong",
      "do apns.key_id and apns.team_id belong to apns.key_file, is the key still valid, "
        + "and is the clock right?"
    ),
    .missingProviderToken: (
      403, "the push had neither a provider token nor a client certificate",
      "set apns.key_file, apns.key_id and apns.team_id"
    ),
    .unrelatedKeyIdInToken: (
      403, "the connection was already used with a key of another team or for other topics",
      "use one key for a connection, or a key that is for all of the team's topics"
    ),
    .badEnvironmentKeyIdInToken: (
      403, "the key is for the other environment",
      "choose the environment that the key was made for, or create a key for this one"
    ),
    .tooManyProviderTokenUpdates: (
      429, "the provider token was renewed more than once in 20 minutes",
      "wait 20 minutes; who else signs with this key?"
    ),
    .forbidden: (
      403, "Apple forbids this push; it does not say why",
      "check the state of the app and of the key in the Apple developer account"
    ),
    .tooManyRequests: (
      429, "this device was sent too many pushes in a short time",
      "wait before the next one"
    ),
    .internalServerError: (
      500, "Apple's server failed",
      "try again; Apple recommends after 15 minutes"
    ),
    .serviceUnavailable: (
      503, "Apple's service is not available",
      "try again; Apple recommends after 15 minutes"
    ),
    .shutdown: (503, "this Apple server is shutting down", "try again: another server will answer"),
    .idleTimeout: (
      400, "the connection was idle for too long",
      "try again: the connection will be a new one"
    ),
    .badCollapseId: (400, "the collapse id is longer than 64 bytes", "shorten it"),
    .badExpirationDate: (
      400, "apns-expiration is not a time in seconds since 1970, or is too far ahead",
      "use 0, or a time within the next 30 days"
    ),
    .badMessageId: (400, "apns-id is not a UUID", "leave it out, or send 8-4-4-4-12 hex digits"),
    .badPriority: (
      400, "the priority is not 10, 5 or 1, or is not allowed for this push type",
      "use 5 for a background push"
    ),
    .badTopic: (
      400, "the topic is not valid",
      "use the app's bundle id with the push type's suffix"
    ),
    .duplicateHeaders: (
      400, "the request had a header twice",
      "check what is between this machine and Apple"
    ),
    .invalidPushType: (400, "there is no such push type", "choose one of Apple's"),
    .missingDeviceToken: (400, "the path names no device", "the path is /3/device/ and the token"),
    .missingTopic: (400, "apns-topic is missing, or the certificate has several", "name the app"),
    .payloadEmpty: (400, "there is no payload", "send a JSON object with aps"),
    .topicDisallowed: (
      400, "pushes to this topic are not allowed",
      "does the key's team own the bundle id, does the app have the push capability, and "
        + "does the topic's suffix fit the push type?"
    ),
    .badPath: (404, "there is no such path", "the path is /3/device/ and the token"),
    .methodNotAllowed: (
      405, "the method is not POST",
      "check what is between this machine and Apple"
    ),
    .payloadTooLarge: (
      413, "the payload is over Apple's limit",
      "use at most 4,096 bytes, or 5,120 for voip pushes"
    ),
    .unrenderable: (
      nil, "the payload could not be shortened to Apple's limit",
      "shorten the template's texts, or name one in shorten"
    ),
    .noRoute: (nil, "no server is configured for the device's environment", "set its host"),
    .unanswered: (
      nil, "the push was sent and never answered; it may have arrived",
      "does the platform's service, or the network in between, have a fault?"
    ),
    .unwritable: (
      nil, "the push had to wait, and Kafka did not accept a record with it",
      "check the topics' limits"
    ),
    .proxyAnswered: (
      nil, "a proxy answered instead of the platform",
      "check the platform's host and what is between it and this machine; the log has the status"
    ),
  ]
}
