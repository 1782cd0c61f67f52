import Devices
import Model
import Record

/// What is known of a user and an event, before anything follows from it.
struct TraceFacts {
  let event: String
  let user: String
  let status: FanOutStatus
  /// The event as it came; nil where it was not kept.
  var announced: Event?
  /// Whether and where the user follows the streamer now; nil: the event did not go by followers.
  var follower: FollowPlace?
  /// Whether the event's own audience names the user now; nil: it has none, or is not known.
  var isInAudience: Bool?
  /// The segment with the user's pushes; nil: nobody can tell.
  var segment: String?
  var outcomes = UserOutcomes()
  var devices = UserDevices()
  var profile = UserProfile()
  /// Why what Redis holds of the user cannot be used.
  var unreadable: String?
  /// What is wrong with the profile; it counts as not set.
  var profileProblems: [String] = []
  /// The rule that keeps events of this streamer from the user at this moment.
  var ruleNow: SuppressionRule?
  /// The topic of the event's pushes; nil where event or template are not known.
  var topic: String?

  init(event: String, user: String, status: FanOutStatus) {
    self.event = event
    self.user = user
    self.status = status
  }

  /// Whether anything speaks of the user.
  var knowsUser: Bool {
    !devices.isEmpty || !profile.members.isEmpty || unreadable != nil || follower?.isThere == true
      || isInAudience == true
      || !outcomes.pushes.isEmpty
  }

  /// Of the whole user.
  var userNote: TracedPush? { outcomes.pushes.first { $0.device == 0 } }

  func note(of binding: Binding) -> TracedPush? {
    let mark = DeviceMark.of(binding.member)
    return outcomes.pushes.first { $0.device == mark }
  }

  /// Notes on devices that the user has no longer.
  var notesOfOthers: [TracedPush] {
    let known = Set(
      (devices.bound.map(\.binding) + devices.setAside.map(\.binding)).map {
        DeviceMark.of($0.member)
      })
    return outcomes.pushes.filter { $0.device != 0 && !known.contains($0.device) }
  }

  func isAddressed(_ binding: Binding) -> Bool { topic == nil || binding.topic == topic }
}
