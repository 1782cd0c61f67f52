/// The status code of an error response of the binary interface, which Apple retired on 2021-03-31
/// ("Local and Remote Notification Programming Guide", appendix "Binary Provider API", table "Codes
/// in error-response packet").
package struct LegacyStatus: Sendable, Equatable {
  /// The meaning of a code for the notification that it names.
  package enum Meaning: Sendable, Equatable, CaseIterable {
    /// The gateway took it, and everything before it; nothing after it.
    case lastTaken
    /// The gateway could not process it now; another try may go well.
    case tryAgain
    /// Our data is wrong, and the token is not to blame.
    case ours
    /// Its payload is too long.
    case payloadTooLong
    /// Its token is none, or not for this certificate or environment.
    case tokenInvalid
    /// The gateway does not say.
    case unknown
  }

  package static let invalidToken = LegacyStatus(8)
  package static let shutdown = LegacyStatus(10)

  package let code: UInt8

  package init(_ code: UInt8) { self.code = code }

  package var meaning: Meaning {
    switch code {
    case 0, 10: .lastTaken
    case 1: .tryAgain
    case 2...6, 128: .ours
    case 7: .payloadTooLong
    case 8: .tokenInvalid
    default: .unknown
    }
  }

  /// Apple's words, for logs.
  package var words: String {
    switch code {
    case 0: "no errors encountered"
    case 1: "processing error"
    case 2: "missing device token"
    case 3: "missing topic"
    case 4: "missing payload"
    case 5: "invalid token size"
    case 6: "invalid topic size"
    case 7: "invalid payload size"
    case 8: "invalid token"
    case 10: "shutdown"
    case 128: "protocol error"
    case 255: "none (unknown)"
    default: "undocumented status \(code)"
    }
  }
}
