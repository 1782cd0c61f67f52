import APNs
import APNsSimulator
import Deliver
import Model
import SingleRequests
import Testing

/// Apple's tables of answers, written out once more: the simulator, the worker and the words for
/// people are each held against them, since each has a table of its own.
@Suite struct DocumentedAnswersTests {
  /// What a worker must do about an answer.
  private enum Deed: Sendable {
    case dropToken, setTokenAside, alert, refuse, hold, renew, wait, elsewhere

    /// Apple says of these that the same push must not be tried again.
    var isFinal: Bool { [.dropToken, .setTokenAside, .alert, .refuse].contains(self) }
  }

  /// "Handling notification responses from APNs".
  private static let pushes: [(status: Int, deed: Deed, reasons: [String])] = [
    (400, .setTokenAside, ["BadDeviceToken", "DeviceTokenNotForTopic"]),
    (
      400, .alert,
      [
        "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic",
        "InvalidPushType", "MissingDeviceToken", "MissingTopic", "PayloadEmpty", "TopicDisallowed",
        "DuplicateHeaders",
      ]
    ),
    (400, .elsewhere, ["IdleTimeout"]),
    (
      403, .hold,
      [
        "BadCertificate", "BadCertificateEnvironment", "InvalidProviderToken",
        "MissingProviderToken", "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken",
      ]
    ),
    (403, .renew, ["ExpiredProviderToken"]),
    (403, .refuse, ["Forbidden"]),
    (404, .alert, ["BadPath"]),
    (405, .alert, ["MethodNotAllowed"]),
    (410, .dropToken, ["Unregistered", "ExpiredToken"]),
    (413, .refuse, ["PayloadTooLarge"]),
    (429, .wait, ["TooManyRequests"]),
    (429, .hold, ["TooManyProviderTokenUpdates"]),
    (500, .wait, ["InternalServerError"]),
    (503, .wait, ["ServiceUnavailable"]),
    (503, .elsewhere, ["Shutdown"]),
  ]

  /// "Handling error responses from Apple Push Notification service", the part on broadcasts.
  private static let broadcasts: [(status: Int, reasons: [String])] = [
    (
      400,
      [
        "FeatureNotEnabled", "MissingChannelId", "BadChannelId", "ChannelNotRegistered",
        "BadRequestParams", "BadRequestPayload", "PayloadEmpty", "BadMessageId", "MissingPushType",
        "InvalidPushType", "CannotCreateChannelConfig", "BadExpirationDate", "TopicDisallowed",
        "BadPriority",
      ]
    ),
    (
      403,
      [
        "BadCertificate", "BadCertificateEnvironment", "TopicMismatch", "MissingProviderToken",
        "ExpiredProviderToken", "InvalidProviderToken",
      ]
    ),
    (404, ["BadPath"]), (405, ["MethodNotAllowed"]), (413, ["PayloadTooLarge"]),
    (429, ["TooManyRequests", "TooManyProviderTokenUpdates"]), (500, ["InternalServerError"]),
    (503, ["ServiceError", "Shutdown"]),
  ]

  @Test func theSimulatorKnowsEachAnswerToAPush() {
    expectSame(
      Dictionary(uniqueKeysWithValues: AppleReason.allCases.map { ($0.rawValue, $0.status) }),
      Self.pushes.map { ($0.status, $0.reasons) })
  }

  @Test func theWorkerAndItsWordsKnowEachAnswerToAPush() {
    let words = RejectionReason.all(of: .apns).compactMap { reason in
      ReasonWords(reason).status.map { (reason.name, $0) }
    }
    expectSame(
      Dictionary(uniqueKeysWithValues: words), Self.pushes.map { ($0.status, $0.reasons) })
  }

  @Test func theWorkerDoesWhatAppleAsks() {
    for (status, deed, reasons) in Self.pushes {
      for reason in reasons {
        let found = Self.deed(RejectionTable.disposition(status: status, reason: reason))
        #expect(found == deed, "\(status) \(reason)")
        let policy = AnswerPolicy(status: status, reason: reason)
        #expect(policy.alerts == [.alert, .hold].contains(deed), "\(status) \(reason)")
        #expect((policy.tries == "1") == deed.isFinal, "\(status) \(reason)")
        #expect((policy.connection == "kept") == ![.elsewhere, .renew].contains(deed))
      }
    }
  }

  @Test func theSimulatorKnowsEachAnswerAboutChannels() {
    expectSame(
      Dictionary(uniqueKeysWithValues: BroadcastReason.allCases.map { ($0.rawValue, $0.status) }),
      Self.broadcasts)
  }

  /// Apple spells one of them in two ways.
  @Test func eachAnswerAboutChannelsHasWords() {
    var known = Dictionary(
      uniqueKeysWithValues: BroadcastWords.all.map { ($0.reason, $0.status) })
    #expect(known.removeValue(forKey: "Service Unavailable") == 503)
    expectSame(known, Self.broadcasts)
    #expect(Set(BroadcastWords.all.map(\.meaning)).count == BroadcastWords.all.count)
  }

  private func expectSame(_ known: [String: Int], _ documented: [(Int, [String])]) {
    let pairs = documented.flatMap { status, reasons in reasons.map { ($0, status) } }
    #expect(known == Dictionary(uniqueKeysWithValues: pairs))
  }

  private static func deed(_ disposition: Disposition) -> Deed? {
    switch disposition {
    case .accepted: nil
    case .reject: .refuse
    case .rejectAndAlert: .alert
    case .prune: .dropToken
    case .setAside: .setTokenAside
    case .retry: .wait
    case .retryElsewhere: .elsewhere
    case .renew: .renew
    case .hold: .hold
    }
  }
}
