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
