import Devices
import PushSupport
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

/// `user show`: what Redis holds under a user's own keys.
enum UserShow {
  static let verb = Verb(
    "show", summary: "Show a user's profile and devices",
    discussion: """
      Whom the user follows is not among it: Redis knows of each streamer who follows, and of \
      nobody whom.
      """,
    options: [DeviceRows.tokens], arguments: [DeviceFlags.user],
    examples: [
      .init("fanfare user show u1", "For people"), .init("fanfare user show u1 --json", "A script"),
    ], exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let user = try DeviceFlags.user(invocation)
    let record = try await CommandRegistry.lend(try invocation.loadSettings()) {
      (registry) async throws(DevicesError) in try await registry.user(user)
    }
    guard record.isKnown else {
      throw CommandFailure(.failed, "Redis knows no profile and no device of \(user)")
    }
    tell(record, invocation)
    return .ok
  }

  private static func tell(_ record: UserRecord, _ invocation: Invocation) {
    let rows = DeviceRows(record.devices, showsTokens: invocation[DeviceRows.tokens])
    guard invocation[UserVerb.json] else {
      var text = Summary()
      text.section(record.user)
      ProfileText.add(record.profile, to: &text)
      if record.reached > 0 {
        text.add("events", record.reached, note: "of about the last hour (rules.events_per_hour)")
      }
      text.write(to: invocation.output)
      invocation.output.line()
      rows.write(of: record.user, invocation)
      return
    }
    let line: JSONOutput = [
      "user": .text(record.user), "profile": ProfileText.json(record.profile),
      "devices": rows.json, "unreadable": .integer(record.devices.unreadable),
      "reached": .integer(record.reached),
    ]
    invocation.output.line(line.serialized())
  }
}

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

/// `user forget`: takes everything out of Redis that names a user.
enum UserForget {
  private static let streamer = Option<[String]>(
    repeated: "streamer", .text, value: "ID", help: "A streamer whom the user follows")
  private static let everywhere = Option(
    flag: "everywhere", help: "Look at all streamers, tags and tokens for the user's name")
  private static let audience = Option(
    flag: "audience", help: "Also the followers of the streamer who has the user's id")
  private static let apply = Option(flag: "apply", help: "Do it; otherwise it is only told")

  static let verb = Verb(
    "forget", summary: "Erase everything about a user",
    discussion: """
      Devices, those that were set aside, the profile, caps and what was noted of Apple's answers \
      go, and tokens get free; from then on no push reaches the user. Redis knows of each streamer \
      who follows and of nobody whom, and the same of tags: name the streamers, or let all of them \
      and all tags be looked at with --everywhere, which harms nobody and takes its time. Without \
      --apply it only says what it would erase. It may be run again at any time, also after it \
      broke off.

      What ends by itself stays until then: which tokens went, ten minutes; without --everywhere \
      what became of the user's pushes, seven days. What is in Kafka, in \
      logs, in plain sets of another system and in other users' lists of muted streamers is not \
      looked at.
      """,
    options: [streamer, everywhere, audience, apply], arguments: [DeviceFlags.user],
    examples: [
      .init("fanfare user forget u1 --everywhere", "What there is of u1"),
      .init("fanfare user forget u1 --everywhere --apply", "All of it"),
      .init("fanfare user forget u1 --streamer s42 --streamer s7 --apply", "Of known streamers"),
    ], exitCodes: DeviceFlags.codes, handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let user = try DeviceFlags.user(invocation)
    var scope = UserErasure.Scope()
    scope.streamers = try DeviceFlags.checked { () throws(GivenRefusal) in
      for streamer in invocation[streamer] { try Given.streamer(streamer, as: "--streamer") }
      return invocation[streamer]
    }
    scope.looksEverywhere = invocation[everywhere]
    scope.erasesAudience = invocation[audience]
    let settings = try invocation.loadSettings()
    let signals = StopSignals.catchAll()
    let (wanted, writes) = (scope, invocation[apply])
    let counts = try await CommandRegistry.lendRedis(settings) {
      (redis, keyspace) async throws(DevicesError) in
      var progress = ProgressLine(
        "looking", total: nil, on: invocation.errors, at: invocation.nowNanoseconds)
      defer { progress.finish(at: invocation.nowNanoseconds) }
      if writes { try await DevicePermissions.check(redis, keyspace) }
      return try await UserErasure(redis: redis, keyspace: keyspace)
        .run(user, wanted, writes: writes) { counts in
          progress.update(done: counts.streamers, at: invocation.nowNanoseconds)
          return !signals.isRaised
        }
    }
    if invocation[UserVerb.json] {
      invocation.output.line(json(counts, user, invocation).serialized())
    } else {
      tell(counts, user, invocation)
      explain(counts, user, hasPlainSets: settings.audience.plainSetKey != nil, invocation)
    }
    guard counts.isComplete else {
      throw CommandFailure(.retryLater, "interrupted: run it again for the rest")
    }
    return .ok
  }

  private static func tell(_ counts: ErasureCounts, _ user: String, _ invocation: Invocation) {
    var text = Summary()
    text.section(invocation[apply] ? "\(user): erased" : "\(user): would be erased")
    for (name, count) in rows(counts) { text.add(name, count) }
    if counts.streamers > 0 {
      text.add("streamers", counts.streamers, note: "looked at for the follows")
    }
    if counts.unreadable > 0 {
      text.add(
        "unreadable", counts.unreadable, note: "streamers' keys of something else", mark: .bad)
    }
    text.write(to: invocation.output)
  }

  private static func rows(_ counts: ErasureCounts) -> [(String, Int)] {
    [
      ("devices", counts.devices), ("set aside", counts.setAside), ("tokens", counts.tokens),
      ("profile fields", counts.profileFields), ("events of the hour", counts.reached),
      ("words of Apple's", counts.verdicts), ("follows", counts.follows),
      ("tags", counts.tags), ("leftovers", counts.leftovers),
      ("traces", counts.traces),
    ]
  }

  /// What was not looked for, and what is left.
  private static func explain(
    _ counts: ErasureCounts, _ user: String, hasPlainSets: Bool, _ invocation: Invocation
  ) {
    func say(_ line: String) { invocation.errors.line(TextLayout.printable(line)) }
    if !invocation[everywhere] {
      say("whom else the user follows, and which tags, was not looked for; --everywhere does it")
    }
    if counts.audience > 0, !invocation[audience] {
      say(
        "the streamer \(user) has \(Figures.grouped(counts.audience)) followers, who stay; "
          + "--audience erases them")
    }
    if hasPlainSets {
      say("plain sets (audience.plain_set_key) are not looked at: take the user out there yourself")
    }
    if !invocation[apply] { say("nothing was written; --apply erases it") }
  }

  private static func json(
    _ counts: ErasureCounts, _ user: String, _ invocation: Invocation
  ) -> JSONOutput {
    [
      "user": .text(user), "applied": .bool(invocation[apply]),
      "devices": .integer(counts.devices), "set_aside": .integer(counts.setAside),
      "tokens": .integer(counts.tokens), "profile_fields": .integer(counts.profileFields),
      "reached": .integer(counts.reached), "verdicts": .integer(counts.verdicts),
      "follows": .integer(counts.follows), "tags": .integer(counts.tags),
      "leftovers": .integer(counts.leftovers), "traces": .integer(counts.traces),
      "everywhere": .bool(invocation[everywhere]), "streamers": .integer(counts.streamers),
      "audience": .integer(counts.audience), "audience_erased": .bool(counts.hasErasedAudience),
      "unreadable": .integer(counts.unreadable), "interrupted": .bool(!counts.isComplete),
    ]
  }
}
