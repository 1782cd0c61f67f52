import Devices
import Terminal
import VerbSupport

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
