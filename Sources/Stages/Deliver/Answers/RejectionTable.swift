import Model

package enum RejectionTable {
  /// `reason`: the body's, nil when the body is missing or is not what Apple sends; the status
  /// decides then.
  /// - Parameter isWhole: the answer was read to its end. Where one broke off and the status says
  ///   little, nobody knows whether it would have been final: the push is sent again.
  package static func disposition(
    status: Int, reason: String?, isWhole: Bool = true
  ) -> Disposition {
    guard status != 200 else { return .accepted }
    guard let reason else {
      let byStatus = disposition(status: status)
      guard !isWhole else { return byStatus }
      return switch byStatus {
      case .rejectAndAlert(.other), .reject(.unregistered): .retry(.unanswered)
      default: byStatus
      }
    }
    let known = RejectionReason(name: reason)
    switch known {
    case .badDeviceToken, .deviceTokenNotForTopic: return .setAside(known)
    case .unregistered, .expiredToken: return .prune(known)
    case .badCollapseId, .badExpirationDate, .badMessageId, .badPriority, .badTopic,
      .duplicateHeaders, .invalidPushType, .missingDeviceToken, .missingTopic, .payloadEmpty,
      .topicDisallowed, .badPath, .methodNotAllowed:
      return .rejectAndAlert(known)
    case .idleTimeout, .shutdown: return .retryElsewhere(known)
    case .badCertificate, .badCertificateEnvironment, .invalidProviderToken,
      .missingProviderToken, .unrelatedKeyIdInToken, .badEnvironmentKeyIdInToken,
      .tooManyProviderTokenUpdates:
      return .hold(known)
    case .expiredProviderToken: return .renewToken
    case .forbidden, .payloadTooLarge: return .reject(known)
    case .tooManyRequests, .internalServerError, .serviceUnavailable: return .retry(known)
    case .other, .unrenderable, .noRoute, .unanswered, .unwritable:
      return disposition(status: status)
    }
  }

  /// How often a push is tried that is answered in this way; then it is rejected for the reason.
  package struct Limit: Sendable, Equatable {
    package let tries: Int
    let isAbout: Subject
  }

  /// Of whom an answer speaks. A try counts the less the more others get the same answer.
  package enum Subject: Sendable, Equatable {
    /// Of the device, unless it is said of many. It also counts where nothing is known of others.
    case device
    /// Of the server: it counts when others are taken, and slows down what it is sent.
    case server
  }

  /// Ten tries are a minute with the default back-off. `TooManyRequests` is said of one device,
  /// which has got many pushes in that time; an event's news is not worth more.
  package static func limit(of reason: RejectionReason) -> Limit? {
    switch reason {
    case .tooManyRequests: Limit(tries: 10, isAbout: .device)
    case .internalServerError, .serviceUnavailable, .shutdown, .idleTimeout, .unanswered:
      Limit(tries: 10, isAbout: .server)
    default: nil
    }
  }

  private static func disposition(status: Int) -> Disposition {
    switch status {
    // Whatever is refused with it, it is not the token: a proxy's answer, or a reason to come.
    case 403: .hold(.other)
    case 404: .rejectAndAlert(.badPath)
    case 405: .rejectAndAlert(.methodNotAllowed)
    // Without a reason nothing says since when the token is gone, so it cannot be pruned.
    case 410: .reject(.unregistered)
    case 413: .reject(.payloadTooLarge)
    case 429: .retry(.tooManyRequests)
    case 500: .retry(.internalServerError)
    case 501...599: .retry(.serviceUnavailable)
    default: .rejectAndAlert(.other)
    }
  }
}
