import Assembly
import Devices
import PushSupport
import Terminal
import VerbSupport

/// `audience seed`: followers that are made up, the same ones for the same seed.
enum AudienceSeed {

  private static let streamer = Option(
    required: "streamer", .text, value: "ID", help: "Whom they follow")
  private static let followers = Option(
    "followers", .integer(in: 0...100_000_000), default: 100_000, help: "How many")
  private static let app = Option(
    "app", .text, default: "com.example.live", value: "BUNDLE", help: "The app of their devices")
  private static let environment = Option<EnvironmentChoice>(
    "environment", .choice(), default: .production, help: "The environment of their devices")
  private static let seed = Option(
    "seed", .integer(in: 0 ... .max), default: 1, help: "Another seed makes other people")
  private static let deadPrefix = Option(
    "dead-prefix", .text, default: "", value: "HEX",
    help: "What tokens of dead devices begin with; none are dead unless given")
  private static let deadShare = Option(
    "dead-share", .number(in: 0...1), default: 0.02, value: "SHARE",
    help: "How many devices are dead")
  private static let mutedShare = Option(
    "muted-share", .number(in: 0...1), default: 0.01, value: "SHARE",
    help: "How many people have muted the streamer")
  private static let userPrefix = Option(
    "user-prefix", .text, default: "made-up-", value: "TEXT", help: "What user ids begin with")
  private static let replace = Option(
    flag: "replace", help: "Put them in the place of the followers that the streamer has")

  static let verb = Verb(
    "seed", summary: "Write made-up followers with devices and profiles",
    discussion: """
      A streamer who has followers keeps them unless --replace is given, and a user who exists \
      and was not made by this verb is never written to. About 1.2 devices a person, eight \
      languages, some without a name, some without a device. The same seed makes the same people \
      on every machine.
      """,
    options: [
      streamer, followers, app, environment, seed, deadPrefix, deadShare, mutedShare, userPrefix,
      replace,
    ],
    examples: [
      .init("fanfare audience seed --streamer s42", "100,000 followers"),
      .init(
        "fanfare audience seed --streamer s42 --followers 1M --seed 7 --dead-prefix dead",
        "A million, of whose devices 2 % have tokens that begin with dead"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let audience = try audience(invocation)
    let settings = try invocation.loadSettings()
    let signals = StopSignals.catchAll()
    let keyspace = Assembly.keyspace(settings)
    let summary = try await CommandRedis.lend(settings) {
      (_, redis) async throws(CommandFailure) -> AudienceSummary in
      if !invocation[replace], let pattern = settings.audience.plainSetKey {
        let plainSet = PlainSetPattern(pattern)
        let members: Int
        do throws(DevicesError) {
          members = try await plainSet.members(of: invocation[streamer], redis)
        } catch {
          throw CommandFailure(error)
        }
        try refuse(members, plainSet, invocation)
      }
      try await refuseStrangers(
        audience, SeededUsers(redis: redis, keyspace: keyspace), signals)
      return try await write(
        audience, AudienceWriter(redis: redis, keyspace: keyspace), invocation, signals)
    }
    tell(summary, audience.totals(), invocation)
    return .ok
  }

  private static func audience(
    _ invocation: Invocation
  ) throws(CommandFailure) -> SyntheticAudience {
    let prefix = invocation[deadPrefix].lowercased()
    let problem =
      SyntheticAudience.problem(
        topic: invocation[app], deadTokenPrefix: prefix, userPrefix: invocation[userPrefix]
      )
      .map { "--\($0.name) \($0.message)" }
      ?? AudienceFollows.problem(streamer: invocation[streamer])
    if let problem { throw CommandFailure(.usage, problem) }
    return SyntheticAudience(
      followers: invocation[followers], seed: UInt64(invocation[seed]), topic: invocation[app],
      environment: invocation[environment].model,
      deadTokenPrefix: prefix, deadShare: invocation[deadShare],
      mutedShare: invocation[mutedShare], userPrefix: invocation[userPrefix])
  }

  /// Shards would hide the plain set.
  private static func refuse(
    _ members: Int, _ plainSet: PlainSetPattern, _ invocation: Invocation
  ) throws(CommandFailure) {
    guard members > 0 else { return }
    throw CommandFailure(
      .failed,
      "\(invocation[streamer]) has \(members) followers in the plain set "
        + "\(plainSet.key(of: invocation[streamer])), which the shards of "
        + "\(invocation[followers]) others would hide: nothing was changed; --replace does it")
  }

  /// Before anything is written, so that a refusal leaves no trace.
  private static func refuseStrangers(
    _ audience: SyntheticAudience, _ seeded: SeededUsers, _ signals: StopSignals
  ) async throws(CommandFailure) {
    let page = SeededUsers.usersPerPage
    for start in stride(from: 0, to: audience.followers, by: page) {
      if signals.isRaised {
        throw CommandFailure(.retryLater, "interrupted: nothing was written")
      }
      let users = (start..<min(start + page, audience.followers)).map { audience.user($0) }
      let stranger: String?
      do throws(DevicesError) {
        stranger = try await seeded.stranger(among: users)
      } catch {
        throw CommandFailure(error)
      }
      if let stranger {
        throw CommandFailure(
          .failed,
          "the user \(stranger) exists and was not made up by audience seed: nothing was written; "
            + "choose a --user-prefix that no id of yours begins with")
      }
    }
  }

  private static func write(
    _ audience: SyntheticAudience, _ writer: AudienceWriter, _ invocation: Invocation,
    _ signals: StopSignals
  ) async throws(CommandFailure) -> AudienceSummary {
    var progress = ProgressLine(
      "seeding", total: audience.followers, on: invocation.errors,
      at: invocation.nowNanoseconds)
    do throws(DevicesError) {
      try await writer.begin(
        streamer: invocation[streamer], expectedFollowers: audience.followers,
        replaces: invocation[replace], allowsEmpty: invocation[replace])
      for index in 0..<audience.followers {
        if index % 1_000 == 0 {
          progress.update(done: index, at: invocation.nowNanoseconds)
          if signals.isRaised { break }
        }
        try await writer.append(SeededUsers.marked(audience.row(index)))
      }
      if signals.isRaised {
        progress.clear()
        try await writer.abandon()
      } else {
        let summary = try await writer.finish()
        progress.update(done: audience.followers, at: invocation.nowNanoseconds)
        progress.finish(at: invocation.nowNanoseconds)
        return summary
      }
    } catch {
      throw CommandFailure(error)
    }
    throw CommandFailure(
      .retryLater, "interrupted: the followers of \(invocation[streamer]) are as they were before")
  }

  private static func tell(
    _ summary: AudienceSummary, _ totals: SyntheticAudience.Totals, _ invocation: Invocation
  ) {
    guard invocation[AudienceVerb.json] else {
      var text = Summary()
      text.add("followers", summary.followers)
      text.add("without devices", totals.withoutDevices, indent: 1)
      text.add("muted", totals.mutedPeople, indent: 1)
      text.add("devices", summary.devices)
      text.add("of muted people", totals.mutedDevices, indent: 1)
      text.add("dead", totals.deadDevices, note: "of those addressed", indent: 1)
      text.add("shards", summary.shards, note: "generation \(summary.generation)")
      text.write(to: invocation.output)
      return
    }
    let line: JSONOutput = [
      "streamer": .text(invocation[streamer]), "followers": .integer(summary.followers),
      "without_devices": .integer(totals.withoutDevices), "muted": .integer(totals.mutedPeople),
      "devices": .integer(summary.devices), "muted_devices": .integer(totals.mutedDevices),
      "dead_devices": .integer(totals.deadDevices), "shards": .integer(summary.shards),
      "generation": .integer(summary.generation),
    ]
    invocation.output.line(line.serialized())
  }
}
