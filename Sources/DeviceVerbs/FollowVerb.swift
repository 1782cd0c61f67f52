import Devices
import Terminal
import VerbSupport

/// `follow` and `unfollow`.
package enum FollowVerb {
  private static let json = Option(flag: "json", help: "Print one JSON object")
  private static let streamer = Argument(
    required: "streamer", .text, help: "The streamer's id")
  private static let mute = Option(
    flag: "mute", help: "Mute the streamer for this user (rules.muted_streamers)")
  private static let unmute = Option(flag: "unmute", help: "Unmute the streamer for this user")

  package static let follow = Verb(
    "follow", summary: "Add a user to a streamer's followers",
    discussion: """
      After this, the user gets the streamer's events. You can add followers at any time, also \
      while the streamer's followers are being divided into other shards. The command refuses a \
      streamer whose followers are in a plain set (audience.plain_set_key), because a follower in \
      a shard would hide that set: divide it first.
      """,
    options: [mute, unmute, json] + ConfigurationOptions.all,
    arguments: [DeviceFlags.user, streamer],
    examples: [
      .init("fanfare follow u1 s42", "Add a follower"),
      .init("fanfare follow u1 s42 --mute", "Add a follower who gets no pushes"),
    ], exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let isMuted = try muting(invocation)
    let (user, streamer) = try names(invocation)
    let settings = try invocation.loadSettings()
    let isNew = try await CommandRegistry.lend(settings) {
      (registry) async throws(DevicesError) in
      try await registry.follow(streamer: streamer, user: user, isMuted: isMuted)
    }
    if isMuted == true { RuleWarnings.mutes(isRuleOn: settings.rules.mutedStreamers, invocation) }
    tell("follows", isNew, "followed before", user, streamer, invocation)
    return .ok
  }

  package static let unfollow = Verb(
    "unfollow", summary: "Remove a user from a streamer's followers",
    options: [json] + ConfigurationOptions.all, arguments: [DeviceFlags.user, streamer],
    examples: [.init("fanfare unfollow u1 s42", "Remove a follower")], exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let (user, streamer) = try names(invocation)
    let isNew = try await CommandRegistry.lend(try invocation.loadSettings()) {
      (registry) async throws(DevicesError) in
      try await registry.unfollow(streamer: streamer, user: user)
    }
    tell("no longer follows", isNew, "did not follow", user, streamer, invocation)
    return .ok
  }

  private static func muting(_ invocation: Invocation) throws(CommandFailure) -> Bool? {
    switch (invocation[mute], invocation[unmute]) {
    case (true, true): throw CommandFailure(.usage, "--mute and --unmute do not go together")
    case (true, false): return true
    case (false, true): return false
    case (false, false): return nil
    }
  }

  private static func names(
    _ invocation: Invocation
  ) throws(CommandFailure) -> (user: String, streamer: String) {
    let user = try DeviceFlags.user(invocation)
    let streamer = try DeviceFlags.checked { () throws(GivenRefusal) in
      try Given.streamer(invocation[Self.streamer])
    }
    return (user, streamer)
  }

  private static func tell(
    _ done: String, _ isNew: Bool, _ already: String, _ user: String, _ streamer: String,
    _ invocation: Invocation
  ) {
    guard invocation[json] else {
      let line = TextLayout.printable("\(user) \(isNew ? done : already) \(streamer)")
      if isNew { invocation.output.line(line) } else { invocation.errors.line(line) }
      return
    }
    let line: JSONOutput = [
      "user": .text(user), "streamer": .text(streamer), "changed": .bool(isNew),
    ]
    invocation.output.line(line.serialized())
  }
}

/// Warnings about values that have no effect: their rule is off, or the time zone is unknown.
enum RuleWarnings {
  static func mutes(isRuleOn: Bool, _ invocation: Invocation) {
    guard !isRuleOn else { return }
    invocation.errors.line(
      "note: mutes of streamers count where rules.muted_streamers is on, and here it is off")
  }

  /// - Parameter isKnown: nil where nobody looks at time zones.
  static func timeZone(_ name: String, isKnown: Bool?, _ invocation: Invocation) {
    guard isKnown == false else { return }
    invocation.errors.line(
      TextLayout.printable(
        "note: this system has no time zone \(name), and a worker without it takes "
          + "rules.default_time_zone: it is a name such as Europe/Berlin"))
  }

  static func quiet(isRuleOn: Bool, _ invocation: Invocation) {
    guard !isRuleOn else { return }
    invocation.errors.line(
      "note: quiet hours count where rules.quiet_hours is on, and here it is off")
  }
}
