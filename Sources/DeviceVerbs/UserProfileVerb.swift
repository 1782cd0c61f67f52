import Devices
import PushSupport
import Terminal
import VerbSupport

/// `user profile`: what templates and rules know of a user.
enum UserProfileVerb {
  enum Switch: String, CaseIterable, Sendable { case on, off }

  private static let locale = Option<String?>(
    "locale", .text, value: "TAG", help: "The language of the texts, such as ja or zh-Hant-TW")
  private static let name = Option<String?>("name", .text, help: "What templates call the user")
  private static let timeZone = Option<String?>(
    "tz", .text, value: "ZONE", help: "Whose clocks quiet hours go by, such as Europe/Berlin")
  private static let quiet = Option<String?>(
    "quiet", .text, value: "HOURS", help: "Hours without a push, such as 22:00-07:00")
  private static let badge = Option<String?>(
    "badge", .text, value: "N", help: "The number on the app's icon")
  private static let muted = Option<Switch?>(
    "muted", .choice(), help: "Whether nothing at all is sent to the user")
  private static let mute = Option<[String]>(
    repeated: "mute", .text, value: "STREAMER", help: "Mute this streamer for the user")
  private static let unmute = Option<[String]>(
    repeated: "unmute", .text, value: "STREAMER", help: "Let this streamer be heard again")
  private static let field = Option<[NamedValue]>(
    repeated: "field", .named("NAME=VALUE"), value: "NAME=VALUE",
    help: "Any other field that templates name")
  private static let clear = Option<[String]>(
    repeated: "clear", .text, value: "NAME", help: "Take out this field")

  static let verb = Verb(
    "profile", summary: "Show or change what templates and rules know of a user",
    discussion: """
      Fields that are not named stay. All of them are written in one step, mutes of streamers in \
      one or two behind it. Without a change the profile is shown.
      """,
    options: [locale, name, timeZone, quiet, badge, muted, mute, unmute, field, clear],
    arguments: [DeviceFlags.user],
    examples: [
      .init("fanfare user profile u1 --locale ja --tz Asia/Tokyo --quiet 22:00-07:00", "Set three"),
      .init("fanfare user profile u1 --clear quiet --mute s7", "No quiet hours, nothing of s7"),
    ], exitCodes: DeviceFlags.codes, handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let user = try DeviceFlags.user(invocation)
    let patch = try patch(invocation)
    let (mutes, unmutes) = (invocation[mute], invocation[unmute])
    try DeviceFlags.checked { () throws(GivenRefusal) in
      for streamer in mutes { try Given.streamer(streamer, as: "--mute") }
      for streamer in unmutes { try Given.streamer(streamer, as: "--unmute") }
    }
    let settings = try invocation.loadSettings()
    let zones = invocation[timeZone] == nil ? nil : try CommandRules.read(settings).timeZones
    let profile = try await CommandRegistry.lend(settings) {
      (registry) async throws(DevicesError) in
      try await registry.change(profileOf: user, patch)
      try await registry.mute(user: user, streamers: mutes)
      try await registry.mute(user: user, streamers: unmutes, isMuted: false)
      return try await registry.profile(of: user)
    }
    if !mutes.isEmpty { RuleWarnings.mutes(isRuleOn: settings.rules.mutedStreamers, invocation) }
    if invocation[quiet] != nil {
      RuleWarnings.quiet(isRuleOn: settings.rules.quietHours, invocation)
    }
    if let name = invocation[timeZone] {
      RuleWarnings.timeZone(name, isKnown: zones?.knows(name), invocation)
    }
    if invocation[UserVerb.json] {
      let line: JSONOutput = ["user": .text(user), "profile": ProfileText.json(profile)]
      invocation.output.line(line.serialized())
    } else {
      var text = Summary()
      text.section(user)
      ProfileText.add(profile, to: &text)
      text.write(to: invocation.output)
    }
    return .ok
  }

  /// Refusals name the option where there is one.
  private static func patch(_ invocation: Invocation) throws(CommandFailure) -> ProfilePatch {
    let options: [(name: String, value: String?)] = [
      (ProfilePatch.locale, invocation[locale]), (ProfilePatch.name, invocation[name]),
      (ProfilePatch.timeZone, invocation[timeZone]), (ProfilePatch.quiet, invocation[quiet]),
      (ProfilePatch.badge, invocation[badge]),
      (ProfilePatch.muted, invocation[muted].map { $0 == .on ? "1" : "0" }),
    ]
    var changes = options.filter { $0.value != nil }
    changes += invocation[field].map { ($0.name, $0.value) }
    changes += invocation[clear].map { ($0, nil) }
    let given = changes
    return try DeviceFlags.checked { () throws(GivenRefusal) in try ProfilePatch(given) }
  }
}
