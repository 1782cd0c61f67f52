import Terminal
import VerbSupport

package enum UserVerb {
  static let json = Option(flag: "json", help: "Print one JSON object")

  package static let verb = Verb(
    group: "user", summary: "See what Redis holds of a user, change the profile, forget the user",
    options: [json] + ConfigurationOptions.all,
    verbs: [UserShow.verb, UserProfileVerb.verb, UserForget.verb],
    examples: [
      .init("fanfare user show u1", "Profile and devices"),
      .init("fanfare user profile u1 --locale ja --tz Asia/Tokyo --quiet 22:00-07:00", "Change it"),
      .init("fanfare user forget u1", "What would be erased"),
    ])
}
