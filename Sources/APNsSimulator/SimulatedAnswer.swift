import Text

/// The simulator's reaction to one request.
package enum SimulatedAnswer: Sendable, Equatable {
  /// Status 200 and the apns-id.
  case accept
  case refuse(Refusal)
  /// RST_STREAM with this code, without an answer.
  case reset(UInt32)
  /// Nothing, ever.
  case silence
  /// The connection closes without an answer to anything that is open on it.
  case drop

  var isAcceptance: Bool { if case .accept = self { true } else { false } }

  static func refuse(_ reason: AppleReason) -> SimulatedAnswer { .refuse(Refusal(reason)) }
}

/// A status other than 200 and its body.
package struct Refusal: Sendable, Hashable {
  package enum Timestamp: Sendable, Hashable {
    case absent
    /// The time of the answer.
    case now
    /// Milliseconds since 1970.
    case fixed(Int64)
  }

  package var status: Int
  /// Goes into the body as it is, so that reasons nobody knows can be had too.
  package var reason: String
  package var timestamp: Timestamp
  /// Seconds, for a `retry-after` field, which Apple does not document.
  package var retryAfter: Int?
  /// The body instead of the JSON object with the reason.
  package var body: String?

  package init(
    status: Int, reason: String, timestamp: Timestamp = .absent, retryAfter: Int? = nil,
    body: String? = nil
  ) {
    self.status = status
    self.reason = reason
    self.timestamp = timestamp
    self.retryAfter = retryAfter
    self.body = body
  }

  package init(_ reason: AppleReason) {
    self.init(
      status: reason.status, reason: reason.rawValue,
      timestamp: reason.status == 410 ? .now : .absent)
  }
}
