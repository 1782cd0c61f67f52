import Text

/// A device token that the feedback service says is gone (Apple, "Binary Provider API", "The
/// Feedback Service"): four bytes of time, two of length, and the token.
package struct FeedbackTuple: Sendable, Equatable {
  /// Seconds since 1970: when APNs found that the app is no longer on the device. HTTP/2 says the
  /// same in milliseconds.
  package let seconds: UInt32
  package let token: [UInt8]

  package init(seconds: UInt32, token: [UInt8]) {
    self.seconds = seconds
    self.token = token
  }

  /// The second's beginning: a binding of the same second may be younger than the word on it, and
  /// stays.
  package var milliseconds: Int64 { Int64(seconds) * 1000 }

  package var hexToken: String { Hexadecimal.text(token) }
}
