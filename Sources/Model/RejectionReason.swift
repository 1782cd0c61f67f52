/// Why a push was rejected: Apple's reasons ("Handling notification responses from APNs"), and what
/// we say ourselves where Apple was not asked or said something unknown. The raw value is an index,
/// not a contract; `name` is what Redis and logs hold.
package enum RejectionReason: UInt8, Sendable, CaseIterable {
  case badCollapseId, badDeviceToken, badExpirationDate, badMessageId, badPriority, badTopic
  case deviceTokenNotForTopic, duplicateHeaders, idleTimeout, invalidPushType, missingDeviceToken
  case missingTopic, payloadEmpty, topicDisallowed
  case badCertificate, badCertificateEnvironment, expiredProviderToken, forbidden,
    invalidProviderToken
  case missingProviderToken, unrelatedKeyIdInToken, badEnvironmentKeyIdInToken
  case badPath, methodNotAllowed
  case expiredToken, unregistered
  case payloadTooLarge
  case tooManyProviderTokenUpdates, tooManyRequests
  case internalServerError, serviceUnavailable, shutdown
  /// An answer whose status or reason is not in Apple's table.
  case other
  /// Ours: the payload could not be fitted into Apple's limit; the push was not sent.
  case unrenderable
  /// Ours: no connection is configured for the binding's environment; the push was not sent.
  case noRoute
  /// Ours: sent, perhaps more than once, and never answered. It may have reached the device, so it
  /// is neither `accepted` nor `expired`.
  case unanswered
  /// Ours: it had to wait for another try, and Kafka took no record with it, however small.
  case unwritable
  /// Ours: sent, and answered by something that is not Apple, however often.
  case proxyAnswered

  /// As Apple spells it; ours are made likewise.
  package var name: String {
    let text = String(describing: self)
    return text.prefix(1).uppercased() + text.dropFirst()
  }

  /// Said by us and never by Apple.
  private static let ours: Set<RejectionReason> = [
    .other, .unrenderable, .noRoute, .unanswered, .unwritable, .proxyAnswered,
  ]

  private static let byName: [String: RejectionReason] = Dictionary(
    uniqueKeysWithValues: allCases.filter { !ours.contains($0) }.map { ($0.name, $0) })

  /// From an answer's reason: `.other` for one that Apple does not document, our own names too.
  package init(name: String) { self = Self.byName[name] ?? .other }
}
