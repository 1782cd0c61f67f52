import JSON
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
