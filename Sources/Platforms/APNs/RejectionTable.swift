import Deliver
import JSON
import Model
import Text

/// The reaction to each status and reason of "Handling notification responses from APNs". Apple's
/// own advice is to retry 5xx after 15 minutes, longer than go-live news lives; ours is a short
/// jittered back-off inside the event's time, then `expired`.
package enum RejectionTable {
  /// `reason`: the body's, nil when the body is missing or is not what Apple sends. Apple names a
  /// reason with each refusal, in one word: an answer without one, or with several words as in
  /// "Bad Request", is a proxy's, as a rule, and says nothing of the device.
  /// - Parameter isWhole: the answer was read to its end. Where one broke off and the status says
  ///   little, nobody knows whether it would have been final: the push is sent again.
  package static func disposition(
    status: Int, reason: String?, isWhole: Bool = true
  ) -> Disposition {
    guard status != 200 else { return .accepted }
    guard let reason, isInApplesForm(reason) else {
      let byStatus = withoutReason(status: status)
      guard !isWhole else { return byStatus }
      return switch byStatus {
      case .retry(.proxyAnswered), .retryElsewhere(.proxyAnswered), .prune: .retry(.unanswered)
      default: byStatus
      }
    }
    return dispositions[.apple(reason)] ?? withNewReason(status: status)
  }

  /// Of each reason of Apple's.
  private static let dispositions: [RejectionReason: Disposition] = {
    var all: [RejectionReason: Disposition] = [:]
    func put(_ reasons: [RejectionReason], _ disposition: (RejectionReason) -> Disposition) {
      for reason in reasons { all[reason] = disposition(reason) }
    }
    put([.badDeviceToken, .deviceTokenNotForTopic]) { .setAside($0) }
    put([.unregistered, .expiredToken]) { .prune($0) }
    put([
      .badCollapseId, .badExpirationDate, .badMessageId, .badPriority, .badTopic,
      .duplicateHeaders, .invalidPushType, .missingDeviceToken, .missingTopic, .payloadEmpty,
      .topicDisallowed, .badPath, .methodNotAllowed,
    ]) { .rejectAndAlert($0) }
    put([.idleTimeout, .shutdown]) { .retryElsewhere($0) }
    put([
      .badCertificate, .badCertificateEnvironment, .invalidProviderToken, .missingProviderToken,
      .unrelatedKeyIdInToken, .badEnvironmentKeyIdInToken, .tooManyProviderTokenUpdates,
    ]) { .hold($0) }
    put([.expiredProviderToken]) { .renew($0) }
    put([.forbidden, .payloadTooLarge]) { .reject($0) }
    put([.tooManyRequests, .internalServerError, .serviceUnavailable]) { .retry($0) }
    return all
  }()

  /// Apple's longest is 27 letters.
  private static func isInApplesForm(_ reason: String) -> Bool {
    (1...UnknownAnswer.maximumReason).contains(reason.utf8.count)
      && reason.utf8.allSatisfy(\.isASCIIWord)
  }

  /// `TooManyRequests` is said of one device, which has got many pushes lately.
  package static func subject(of reason: RejectionReason) -> RetrySubject? {
    switch reason {
    case .tooManyRequests: .device
    case .internalServerError, .serviceUnavailable, .shutdown, .idleTimeout, .unanswered,
      .proxyAnswered:
      .server
    default: nil
    }
  }

  /// Pushes that HTTP lets a client send again are sent again (RFC 9110, sections 15.5 and 15.6;
  /// RFC 8470 for 425), a misdirected request (421) on another connection. So are all others, since
  /// it is not Apple that answered; in the end they are rejected as answered by a proxy.
  private static func withoutReason(status: Int) -> Disposition {
    switch status {
    // A 403 is never due to the token: it is a proxy's answer, or Apple's with a new reason.
    case 403: .hold(.other)
    // Without a timestamp nothing says since when the token is gone.
    case 410: .prune(.unregistered)
    case 421: .retryElsewhere(.proxyAnswered)
    case 429: .retry(.tooManyRequests)
    case 500: .retry(.internalServerError)
    case 503: .retry(.serviceUnavailable)
    default: .retry(.proxyAnswered)
    }
  }

  /// The answer has Apple's form, and a reason that Apple does not document.
  private static func withNewReason(status: Int) -> Disposition {
    switch status {
    case 404: .rejectAndAlert(.badPath)
    case 405: .rejectAndAlert(.methodNotAllowed)
    case 413: .reject(.payloadTooLarge)
    // Apple has none of 401, 402 and 407: who wants a login, or money, is a proxy.
    case 401, 402, 403, 407, 408, 410, 421, 425, 429, 500, 502, 503, 504:
      withoutReason(status: status)
    case 400...499: .rejectAndAlert(.other)
    case 501...599: .retry(.serviceUnavailable)
    default: .retry(.proxyAnswered)
    }
  }

  /// An answer that Apple does not document: a proxy's, or a new reason.
  static func unknown(
    _ status: Int, _ reason: String?, _ disposition: Disposition
  ) -> UnknownAnswer? {
    guard let reason else {
      switch disposition {
      case .hold(.other), .retry(.proxyAnswered), .retryElsewhere(.proxyAnswered):
        return UnknownAnswer(status: status, reason: "")
      default: return nil
      }
    }
    guard status != 200, RejectionReason.apple(reason) == .other else { return nil }
    return UnknownAnswer(status: status, reason: reason)
  }
}

/// The body of a refused request: `{"reason": …, "timestamp": …}`.
package struct Answer: Equatable {
  package let reason: String?
  /// Ms since 1970; with 410 only.
  package let timestamp: Int64?

  /// More than Apple ever sends; the rest of a longer body is not kept.
  static let maximumBytes = 4096

  /// A body that is not what Apple documents gives an answer without a reason; the status decides
  /// then.
  package init(body: [UInt8]) {
    let fields = try? JSONValue.parse(body, maximumBytes: Self.maximumBytes, maximumDepth: 4).object
    reason = fields?["reason"]?.string
    timestamp = fields?["timestamp"]?.integer
  }
}
