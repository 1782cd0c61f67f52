import APNs
import Deliver
import Model

/// A worker's reaction to one of Apple's answers, as words for operators. Made from
/// `RejectionTable`, so that the words are true.
package struct AnswerPolicy: Sendable, Equatable {
  package let outcome: String
  /// How often it is tried at most.
  package let tries: String
  package let token: String
  package let connection: String
  package let hold: Hold
  /// Whether the operator is told at once.
  package let alerts: Bool

  /// The pushes that wait because of it.
  package enum Hold: String, Sendable {
    case nothing
    case topic = "the topic"
    /// A second token that is too old is no accident: this machine's clock is wrong.
    case topicOfNewToken = "the topic, if the provider token was new"
  }

  package init(status: Int, reason: String?) {
    let disposition = RejectionTable.disposition(status: status, reason: reason)
    let said = reason.map { RejectionReason.apple($0) }
    outcome = Self.outcome(disposition)
    tries = Self.tries(disposition)
    token = Self.token(disposition, isDated: reason != nil)
    switch disposition {
    case .retryElsewhere: connection = "takes no more"
    case .renew: connection = "takes no more, and the next one has the new provider token"
    default: connection = "kept"
    }
    if case .hold = disposition {
      hold = .topic
    } else {
      hold = said == .expiredProviderToken ? .topicOfNewToken : .nothing
    }
    switch disposition {
    case .rejectAndAlert, .hold: alerts = true
    default: alerts = false
    }
  }

  /// One sentence.
  package var sentence: String {
    var parts = [outcome]
    if tries != "1" { parts.append("tries: \(tries)") }
    if token != "kept" { parts.append("the token is \(token)") }
    if connection != "kept" { parts.append("the connection \(connection)") }
    switch hold {
    case .nothing: break
    case .topic: parts.append("the topic waits")
    case .topicOfNewToken:
      parts.append("the topic waits, and the operator is told, if the provider token was new")
    }
    if alerts { parts.append("the operator is told") }
    return parts.joined(separator: "; ")
  }

  private static func outcome(_ disposition: Disposition) -> String {
    switch disposition {
    case .accepted: "accepted"
    case .reject, .rejectAndAlert, .prune, .setAside: "rejected"
    case .retry: "sent again after a back-off"
    case .retryElsewhere: "sent again on another connection"
    case .renew: "sent again with a new provider token"
    case .hold: "waits until the credentials are taken"
    }
  }

  private static func tries(_ disposition: Disposition) -> String {
    switch disposition {
    case .accepted, .reject, .rejectAndAlert, .prune, .setAside: return "1"
    case .renew, .hold: return "until it expires"
    case .retry(let reason), .retryElsewhere(let reason):
      return switch RejectionTable.subject(of: reason) {
      case nil: "until it expires"
      case .device: "\(RetrySubject.mostTries), more where others are refused"
      case .server: "\(RetrySubject.mostTries) while others are taken"
      }
    }
  }

  /// - Parameter isDated: Apple may have said since when it is gone.
  private static func token(_ disposition: Disposition, isDated: Bool) -> String {
    switch disposition {
    case .prune where !isDated: "kept, and set aside if Apple repeats it on three days"
    case .prune: "removed, unless it was bound after the timestamp"
    case .setAside: "set aside"
    default: "kept"
    }
  }
}
