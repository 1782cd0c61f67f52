import Devices
import Terminal

/// A profile for people and for scripts.
enum ProfileText {
  static func add(_ profile: UserProfile, to text: inout Summary) {
    for field in profile.members {
      text.add(field.name, field.value.split(separator: "\n").joined(separator: ", "))
    }
    if profile.members.isEmpty { text.add("profile", "none") }
  }

  static func json(_ profile: UserProfile) -> JSONOutput {
    var object = Terminal.JSONObject()
    for field in profile.members { object[field.name] = .text(field.value) }
    return .object(object)
  }
}
