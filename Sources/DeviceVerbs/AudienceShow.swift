import Devices
import Terminal
import VerbSupport

/// `audience show`: how a streamer's followers stand.
enum AudienceShow {
  private static let streamer = Argument(required: "streamer", .text, help: "Whose followers")
  private static let limit = Option(
    "limit", .integer(in: 0...10_000), default: 0, value: "N",
    help: "Name so many of them, nobody in particular")

  static let verb = Verb(
    "show", summary: "Show how many follow a streamer, and how they are divided",
    options: [limit], arguments: [streamer],
    examples: [
      .init("fanfare audience show s42", "How many, in how many shards"),
      .init("fanfare audience show s42 --limit 10", "And ten of them"),
    ], exitCodes: DeviceFlags.codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let id = try DeviceFlags.checked { () throws(GivenRefusal) in
      try Given.streamer(invocation[streamer])
    }
    let settings = try invocation.loadSettings()
    let (plainSet, wanted) = (CommandRegistry.plainSet(settings), invocation[limit])
    let report = try await CommandRegistry.lendRedis(settings) {
      (redis, keyspace) async throws(DevicesError) in
      try await AudienceReader(redis: redis, keyspace: keyspace, plainSet: plainSet)
        .report(on: id, sample: wanted)
    }
    if invocation[AudienceVerb.json] {
      invocation.output.line(json(report).serialized())
    } else {
      tell(report, invocation)
    }
    return .ok
  }

  private static func tell(_ report: AudienceReport, _ invocation: Invocation) {
    var text = Summary()
    text.section(report.streamer)
    text.add("followers", report.followers)
    if let noted = report.noted, noted != report.followers {
      text.add("noted", noted, note: "in the hash, for people; events go by the shards", indent: 1)
    }
    switch report.place {
    case .nowhere: break
    case .plain(let key): text.add("shards", "none", note: "they are in the plain set \(key)")
    case .shards:
      text.add("shards", report.shards, note: "generation \(report.generation)")
      text.add("largest", report.largestShard, indent: 1)
    }
    if let coming = report.comingShards {
      text.add("being divided", coming, note: "shards, or a division died: see audience shard")
    }
    text.write(to: invocation.output)
    if report.hasOutgrownShards, report.place != .nowhere {
      invocation.errors.line(
        TextLayout.printable(
          "they should have \(Figures.grouped(report.recommendedShards)) shards: "
            + "fanfare audience shard --streamer \(report.streamer)"))
    }
    for user in report.sample { invocation.output.line(TextLayout.printable(user)) }
  }

  private static func json(_ report: AudienceReport) -> JSONOutput {
    let place: JSONOutput =
      switch report.place {
      case .nowhere: "nowhere"
      case .plain: "plain"
      case .shards: "shards"
      }
    return [
      "streamer": .text(report.streamer), "place": place, "followers": .integer(report.followers),
      "noted": report.noted.map { .integer($0) } ?? .null, "shards": .integer(report.shards),
      "generation": .integer(report.generation), "largest_shard": .integer(report.largestShard),
      "recommended_shards": .integer(report.recommendedShards),
      "coming_shards": report.comingShards.map { .integer($0) } ?? .null,
      "sample": .array(report.sample.map { .text($0) }),
    ]
  }
}
