import Devices
import Telemetry
import Terminal
import VerbSupport

/// `tag`: sets of users that an event can address instead of followers.
package enum TagVerb {
  private static let json = Option(flag: "json", help: "Print one JSON object")
  private static let tag = Argument(required: "tag", .text, help: "The tag's name")
  private static let users = Argument<[String]>(
    rest: "user", .text, minimum: 1, help: "The ids of the users, at most 1,000")
  private static let limit = Option(
    "limit", .integer(in: 0...10_000), default: 0, value: "N",
    help: "Also print this many users, chosen arbitrarily")

  package static let verb = Verb(
    group: "tag", summary: "Tag users, so that events can address them",
    discussion: """
      A tag is a set of users. An event addresses it in its audience, as in {"tag": "beta"}, alone \
      or combined with others by and, or and not (docs/events.md).
      """,
    options: [json] + ConfigurationOptions.all, verbs: [add, remove, show, shard],
    examples: [
      .init("fanfare tag add beta u1 u2", "Give two users a tag"),
      .init(
        "fanfare tag show beta --limit 10",
        "Show how many users have the tag, and print ten of them"),
    ])

  private static let add = Verb(
    "add", summary: "Add a tag to users", arguments: [tag, users],
    examples: [.init("fanfare tag add beta u1 u2", "Add the tag to u1 and u2")],
    exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    try await change(invocation, isOn: true)
  }

  private static let remove = Verb(
    "remove", summary: "Remove a tag from users", arguments: [tag, users],
    examples: [
      .init(
        "fanfare tag remove beta u1",
        "Remove the tag from u1")
    ], exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    try await change(invocation, isOn: false)
  }

  private static func change(
    _ invocation: Invocation, isOn: Bool
  ) async throws(CommandFailure) -> ExitCode {
    let (name, users) = (try tag(invocation), invocation[users])
    try DeviceFlags.checked { () throws(GivenRefusal) in
      for user in users { try Given.user(user) }
    }
    guard users.count <= DeviceRegistry.maximumTagged else {
      throw CommandFailure(
        .usage, "at most \(DeviceRegistry.maximumTagged) users at a time")
    }
    let changed = try await CommandRegistry.lend(try invocation.loadSettings()) {
      (registry) async throws(DevicesError) in
      try await registry.tag(name, users: users, isOn: isOn)
    }
    if invocation[json] {
      let line: JSONOutput = [
        "tag": .text(name), "users": .integer(users.count), "changed": .integer(changed),
      ]
      invocation.output.line(line.serialized())
    } else {
      invocation.output.line(
        TextLayout.printable(
          "\(name): \(changed) of \(users.count) " + (isOn ? "got it" : "had it")))
    }
    return .ok
  }

  private static let show = Verb(
    "show", summary: "Show how many users and shards a tag has",
    options: [limit], arguments: [tag],
    examples: [.init("fanfare tag show beta", "Show the number of users and of shards")],
    exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let (name, wanted) = (try tag(invocation), invocation[limit])
    let report = try await CommandRegistry.lendRedis(try invocation.loadSettings()) {
      (redis, keyspace) async throws(DevicesError) in
      try await AudienceReader(redis: redis, keyspace: keyspace.ofTags)
        .report(on: name, sample: wanted)
    }
    if invocation[json] {
      invocation.output.line(JSONOutput.object(members(of: report)).serialized())
    } else {
      tell(report, invocation)
    }
    return .ok
  }

  private static func members(of report: AudienceReport) -> JSONObject {
    [
      "tag": .text(report.streamer), "users": .integer(report.followers),
      "shards": .integer(report.shards), "generation": .integer(report.generation),
      "largest_shard": .integer(report.largestShard),
      "recommended_shards": .integer(report.recommendedShards),
      "coming_shards": report.comingShards.map { .integer($0) } ?? .null,
      "sample": .array(report.sample.map { .text($0) }),
    ]
  }

  private static func tell(_ report: AudienceReport, _ invocation: Invocation) {
    var text = Summary()
    text.section(report.streamer)
    text.add("users", report.followers)
    text.add("shards", report.shards, note: "generation \(report.generation)")
    text.add("largest", report.largestShard, indent: 1)
    text.write(to: invocation.output)
    if report.hasOutgrownShards, report.followers > 0 {
      invocation.errors.line(
        TextLayout.printable(
          "they should have \(Figures.grouped(report.recommendedShards)) shards: "
            + "fanfare tag shard \(report.streamer)"))
    }
    for user in report.sample { invocation.output.line(TextLayout.printable(user)) }
  }

  private static let shard = Verb(
    "shard", summary: "Divide a tag's users into shards of about 2,048",
    discussion: """
      Lanes and workers share a fan-out by shards. Events can go on meanwhile, and users can get \
      or lose the tag, because the new shards take over in one step.
      """,
    arguments: [tag], examples: [.init("fanfare tag shard beta", "Divide a tag that has grown")],
    exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let name = try tag(invocation)
    let summary = try await CommandRegistry.lendRedis(try invocation.loadSettings()) {
      (redis, keyspace) async throws(DevicesError) in
      try await AudienceSharding(redis: redis, keyspace: keyspace.ofTags)
        .run(streamer: name, from: .current)
    }
    if invocation[json] {
      let line: JSONOutput = [
        "tag": .text(name), "users": .integer(summary.followers),
        "shards": .integer(summary.shards), "generation": .integer(summary.generation),
      ]
      invocation.output.line(line.serialized())
    } else {
      var text = Summary()
      text.add("users", summary.followers)
      text.add("shards", summary.shards, note: "generation \(summary.generation)")
      text.write(to: invocation.output)
    }
    return .ok
  }

  private static func tag(_ invocation: Invocation) throws(CommandFailure) -> String {
    try DeviceFlags.checked { () throws(GivenRefusal) in try Given.tag(invocation[tag]) }
  }
}
