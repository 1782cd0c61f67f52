import Devices
import PushSupport
import Terminal
import VerbSupport

package enum UserVerb {
  static let json = Option(flag: "json", help: "Print one JSON object")

  package static let verb = Verb(
    group: "user", summary: "Show a user, change the user's profile, or erase the user",
    options: [json] + ConfigurationOptions.all,
    verbs: [UserShow.verb, UserProfileVerb.verb, UserForget.verb],
    examples: [
      .init("fanfare user show u1", "Show the profile and the devices"),
      .init(
        "fanfare user profile u1 --locale ja --tz Asia/Tokyo --quiet 22:00-07:00",
        "Change the profile"),
      .init("fanfare user forget u1", "Show what would be erased"),
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
      The streamers that the user follows are not shown: Redis stores the followers of each \
      streamer, but not the reverse.
      """,
    options: [DeviceRows.tokens], arguments: [DeviceFlags.user],
    examples: [
      .init("fanfare user show u1", "Show the user as text"),
      .init("fanfare user show u1 --json", "Print JSON for a script"),
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
    "locale", .text, value: "TAG",
    help: "The language of the user's pushes, such as ja or zh-Hant-TW")
  private static let name = Option<String?>("name", .text, help: "The user's name in templates")
  private static let timeZone = Option<String?>(
    "tz", .text, value: "ZONE", help: "The time zone of the quiet hours, such as Europe/Berlin")
  private static let quiet = Option<String?>(
    "quiet", .text, value: "HOURS", help: "Hours without pushes, such as 22:00-07:00")
  private static let badge = Option<String?>(
    "badge", .text, value: "N", help: "The number on the app's icon")
  private static let muted = Option<Switch?>(
    "muted", .choice(), help: "Send no pushes at all to the user")
  private static let mute = Option<[String]>(
    repeated: "mute", .text, value: "STREAMER", help: "Mute this streamer for the user")
  private static let unmute = Option<[String]>(
    repeated: "unmute", .text, value: "STREAMER", help: "Unmute this streamer for the user")
  private static let field = Option<[NamedValue]>(
    repeated: "field", .named("NAME=VALUE"), value: "NAME=VALUE",
    help: "Set any other field that templates use")
  private static let clear = Option<[String]>(
    repeated: "clear", .text, value: "NAME", help: "Remove this field")

  static let verb = Verb(
    "profile", summary: "Show or change the profile that templates and rules read",
    discussion: """
      Fields that you do not name stay as they are. All fields are written in one step; mutes of \
      streamers are written in one or two steps after it. Without a change, the command shows the \
      profile.
      """,
    options: [locale, name, timeZone, quiet, badge, muted, mute, unmute, field, clear],
    arguments: [DeviceFlags.user],
    examples: [
      .init(
        "fanfare user profile u1 --locale ja --tz Asia/Tokyo --quiet 22:00-07:00",
        "Set three fields"),
      .init(
        "fanfare user profile u1 --clear quiet --mute s7",
        "Remove the quiet hours, and mute s7"),
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
    flag: "everywhere", help: "Search all streamers, tags and tokens for the user's id")
  private static let audience = Option(
    flag: "audience", help: "Also erase the followers of the streamer with the user's id")
  private static let apply = Option(
    flag: "apply",
    help: "Erase the data; otherwise it is only shown")

  static let verb = Verb(
    "forget", summary: "Erase everything about a user",
    discussion: """
      Erases the user's devices (also those that were set aside), profile, caps and recorded \
      answers of Apple, and frees the tokens. After that, no push reaches the user. Redis stores \
      the users of each streamer and of each tag, but not the reverse. So name the streamers, or \
      search all streamers and tags with --everywhere, which is harmless but takes time. Without \
      --apply the command only shows what it would erase. You can run it again at any time, also \
      after an interruption.

      Two records expire on their own: which tokens were removed, after ten minutes; and, without \
      --everywhere, the outcomes of the user's pushes, after seven days. The command does not \
      search Kafka, logs, plain sets of another system, or other users' lists of muted streamers.
      """,
    options: [streamer, everywhere, audience, apply], arguments: [DeviceFlags.user],
    examples: [
      .init("fanfare user forget u1 --everywhere", "Show what Redis holds about u1"),
      .init("fanfare user forget u1 --everywhere --apply", "Erase all of it"),
      .init(
        "fanfare user forget u1 --streamer s42 --streamer s7 --apply",
        "Erase u1 without a search, because the streamers are known"),
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

  /// Explains what was not searched, and what is left.
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
