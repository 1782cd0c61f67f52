import Devices
import Model
import Record
import Render

/// The outcome of one event for one user, and why.
package struct Trace: Sendable {
  package let event: String
  package let user: String
  package let finding: Finding
  package let status: FanOutStatus
  /// The event's app and its end in ms since 1970; nil where the event was not kept.
  package let app: String?
  package let expiresAt: Int64?
  package let topic: String?
  package let follower: FollowPlace?
  package let segment: String?
  package let isSettled: Bool
  package let devices: [TracedDevice]
  /// Faults in Redis' data about the user.
  package let problems: [String]
  package let ruleNow: SuppressionRule?
  /// Of the template and the profile as they are now.
  package var rendered: RenderedNow = .unknown("")
}

/// The push that the user would get of the event if it came now.
package enum RenderedNow: Sendable {
  case preview(RenderPreview)
  /// It would not be rendered, or nobody can tell: why.
  case unknown(String)
}

/// A device of the user's, and what became of its push.
package struct TracedDevice: Sendable, Equatable {
  package enum State: String, Sendable {
    case bound
    case setAside = "set_aside"
    /// It is known by what was noted of its push alone: logged out, or taken out.
    case gone
  }

  package let state: State
  /// Nil of one that is gone.
  package let binding: Binding?
  /// When it was bound or set aside, ms since 1970; nil where that is not known.
  package let since: Int64?
  package let finding: Finding
  /// When its push got its outcome, ms since 1970; nil where that is not known.
  package let at: Int64?
  /// How often the push was sent; nil where that is not known.
  package let sends: Int?

  /// The `apns-id` of its push of an event, by which Apple knows it; nil where none was sent.
  package func apnsID(of event: String) -> String? {
    guard let binding, binding.destination.platform == .apns, sends != 0 else { return nil }
    var token = binding.token
    return token.withUTF8 {
      PushIdentifier(
        seed: PushIdentifier.Seed(event: event), token: UnsafeRawBufferPointer($0)
      ).text
    }
  }

  /// Enough of the token to tell devices of one user apart.
  package var shortToken: String? { binding?.shortToken }
}
