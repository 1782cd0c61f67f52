import Assembly
import Devices
import Terminal
import VerbSupport

package enum AudienceVerb {
  static let json = Option(flag: "json", help: "Print the summary as one JSON object")

  package static let verb = Verb(
    group: "audience", summary: "Import, generate, divide and show followers in Redis",
    discussion: """
      These verbs write the keys that workers read, under redis.prefix.data. docs/redis.md \
      describes the keys, for backends that write them themselves.
      """,
    options: [json] + ConfigurationOptions.all,
    verbs: [AudienceImport.verb, AudienceSeed.verb, AudienceShard.verb, AudienceShow.verb],
    examples: [
      .init(
        "fanfare audience import followers.ndjson",
        "Import your own users, devices and follows"),
      .init(
        "fanfare audience seed --streamer s42 --followers 100k --app com.example.live",
        "Generate followers, to try things out"),
      .init(
        "fanfare audience shard --streamer s42 --from-key followers:s42",
        "Divide a large set of followers into shards"),
    ])
}

/// `audience show`: how a streamer's followers stand.
enum AudienceShow {
  private static let streamer = Argument(required: "streamer", .text, help: "The streamer's id")
  private static let limit = Option(
    "limit", .integer(in: 0...10_000), default: 0, value: "N",
    help: "Also print this many followers, chosen arbitrarily")

  static let verb = Verb(
    "show", summary: "Show how many followers and shards a streamer has",
    options: [limit], arguments: [streamer],
    examples: [
      .init("fanfare audience show s42", "Show the number of followers and of shards"),
      .init("fanfare audience show s42 --limit 10", "Also print ten followers"),
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

/// `audience shard`: a plain set, or shards that have grown too large, into new shards.
enum AudienceShard {
  private static let streamer = Option(
    required: "streamer", .text, value: "ID", help: "The streamer's id")
  private static let fromKey = Option<String?>(
    "from-key", .text, value: "KEY",
    help: "The plain set to divide; by default the streamer's shards or, if there are none, "
      + "audience.plain_set_key")
  private static let replace = Option(
    flag: "replace", help: "Let the plain set replace followers that are in shards")

  static let verb = Verb(
    "shard", summary: "Divide a streamer's followers into shards of about 2,048",
    discussion: """
      Lanes and workers share a fan-out by shards: one lane has to serve all followers in a single \
      set. Fan-outs, follows and unfollows can go on meanwhile, because the new shards take over \
      in one step. A plain set is not changed, but it is not read any longer. So let the backend \
      follow and unfollow with Config/redis/follow.lua before you divide the set: the script \
      writes to the right keys before, during and after. A plain set replaces followers that are \
      already in shards only with --replace, and an empty one never does.
      """,
    options: [streamer, fromKey, replace],
    examples: [
      .init("fanfare audience shard --streamer s42 --from-key followers:s42", "Divide a plain set"),
      .init("fanfare audience shard --streamer s42", "Divide shards that have grown"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    if let problem = AudienceFollows.problem(streamer: invocation[streamer]) {
      throw CommandFailure(.usage, problem)
    }
    let settings = try invocation.loadSettings()
    let keyspace = Assembly.keyspace(settings)
    let plainSet = settings.audience.plainSetKey.map { PlainSetPattern($0) }
    let summary = try await CommandRedis.lend(settings) {
      (_, redis) async throws(CommandFailure) -> AudienceSummary in
      var progress = ProgressLine(
        "dividing", total: nil, on: invocation.errors, at: invocation.nowNanoseconds)
      do throws(DevicesError) {
        let sharding = AudienceSharding(redis: redis, keyspace: keyspace)
        let source = try await source(invocation, plainSet, sharding)
        let summary =
          try await sharding
          .run(
            streamer: invocation[streamer], from: source, replaces: invocation[replace]
          ) { done, expected in
            progress.update(
              done: done, total: expected, at: invocation.nowNanoseconds)
          }
        progress.finish(at: invocation.nowNanoseconds)
        return summary
      } catch {
        progress.clear()
        throw CommandFailure(error)
      }
    }
    tell(summary, invocation)
    return .ok
  }

  private static func source(
    _ invocation: Invocation, _ plainSet: PlainSetPattern?, _ sharding: AudienceSharding
  ) async throws(DevicesError) -> AudienceSource {
    let streamer = invocation[streamer]
    if let key = invocation[fromKey] { return .plain(key: key) }
    guard let plainSet else { return .current }
    return try await sharding.hasShards(streamer)
      ? .current : .plain(key: plainSet.key(of: streamer))
  }

  private static func tell(_ summary: AudienceSummary, _ invocation: Invocation) {
    guard invocation[AudienceVerb.json] else {
      var text = Summary()
      text.add("followers", summary.followers)
      text.add("shards", summary.shards, note: "generation \(summary.generation)")
      if summary.skipped > 0 {
        text.add("left out", summary.skipped, note: "members that are no user ids", mark: .bad)
      }
      text.write(to: invocation.output)
      return
    }
    let line: JSONOutput = [
      "streamer": .text(invocation[streamer]), "followers": .integer(summary.followers),
      "shards": .integer(summary.shards), "generation": .integer(summary.generation),
      "skipped": .integer(summary.skipped),
    ]
    invocation.output.line(line.serialized())
  }
}

/// `audience import`: NDJSON to Redis, line by line.
enum AudienceImport {
  private static let file = Argument(
    required: "file", .path, help: "An NDJSON file with the users; - is standard input")
  private static let strict = Option(flag: "strict", help: "Stop at the first invalid row")
  private static let app = Option<String?>(
    "app", .text, value: "TOPIC", help: "The topic of devices without one")

  static let verb = Verb(
    "import", summary: "Import users, devices and follows from NDJSON",
    discussion: """
      Each line is one user:

      {"user":"u1","follows":["s42"],"tags":["beta"],"profile":{"locale":"ja","name":"Aiko",\
      "badge":3,"muted":false},"devices":[{"token":"0a1b…","environment":"production",\
      "topic":"com.example.live","bound_at":"2026-11-21T08:00:00Z"}]}

      Only user is required. environment defaults to production. bound_at, which can also be \
      milliseconds since 1970, defaults to now. The import adds to what Redis holds, so you can \
      import the same file again. Streamers whose followers have outgrown their shards are divided \
      again. A token belongs to the last user who is named with it. The import reports each \
      invalid row with its line number, and skips it. If a key in Redis holds another type, the \
      row is reported too, and only a part of it may be written. The import also skips users who \
      follow a streamer whose followers are in a plain set (audience.plain_set_key): divide that \
      set first.
      """,
    options: [strict, app], arguments: [file],
    examples: [
      .init("fanfare audience import followers.ndjson", "Import a file"),
      .init(
        "zcat followers.ndjson.gz | fanfare audience import - --strict",
        "Import a stream, and stop at the first invalid row"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config], handler: run)

  private struct Result: Sendable {
    var counts = AudienceImporter.Counts()
    var isInterrupted = false
  }

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let settings = try invocation.loadSettings()
    let reader = ImportRowReader(
      defaultTopic: invocation[app], now: invocation.nowMilliseconds,
      rules: Assembly.subscriptionRules(settings))
    let signals = StopSignals.catchAll()
    // A file that is not there is no reason to wait for Redis.
    let lines = try SharedLines(
      invocation[file], maximumLineBytes: ImportRow.maximumBytes, until: signals)
    let keyspace = Assembly.keyspace(settings)
    let result = try await CommandRedis.lend(settings) {
      (_, redis) async throws(CommandFailure) -> Result in
      let importer = AudienceImporter(
        redis: redis, keyspace: keyspace,
        plainSet: settings.audience.plainSetKey.map { PlainSetPattern($0) }, reader: reader)
      return try await write(to: importer, lines, invocation, signals)
    }
    tell(result, invocation)
    if result.isInterrupted {
      throw CommandFailure(
        .retryLater, "interrupted: what was read until then is written; run it again for the rest")
    }
    return result.counts.refused == 0 ? .ok : .failed
  }

  private static func write(
    to importer: AudienceImporter, _ lines: SharedLines, _ invocation: Invocation,
    _ signals: StopSignals
  ) async throws(CommandFailure) -> Result {
    var result = Result()
    var progress = ProgressLine(
      "importing", total: nil, on: invocation.errors, at: invocation.nowNanoseconds)
    defer { progress.finish(at: invocation.nowNanoseconds) }
    var complaints = Complaints(about: invocation[file], on: invocation.errors)
    // Also when the import breaks off.
    defer { complaints.add(importer.takeRefused(), &progress) }
    do {
      while !signals.isRaised, let line = try lines.next() {
        let before = complaints.count
        let refusal = try await importer.take(line.ofImport, number: lines.number)
        complaints.add(importer.takeRefused(), &progress)
        if let refusal { complaints.add(refusal.reason, lines.number, &progress) }
        progress.update(done: importer.counts.rows, at: invocation.nowNanoseconds)
        if complaints.count > before, invocation[strict] { break }
      }
      result.isInterrupted = signals.isRaised
      _ = try await importer.finish()
      result.counts = importer.counts
    } catch let error as DevicesError {
      throw CommandFailure(error)
    } catch let error as CommandFailure {
      throw error
    } catch {
      throw CommandFailure(.failed, "\(error)")
    }
    return result
  }

  /// Says of rows why they are refused. A file with the same mistake in every line is told in a
  /// screenful.
  private struct Complaints {
    private let place: String
    private let errors: Console
    private(set) var count = 0

    private static let maximum = 20

    init(about file: String, on errors: Console) {
      place = file == "-" ? "standard input" : file
      self.errors = errors
    }

    mutating func add(_ refused: [RefusedLine], _ progress: inout ProgressLine) {
      for each in refused { add(each.reason, each.line, &progress) }
    }

    mutating func add(
      _ reason: @autoclosure () -> String, _ line: Int, _ progress: inout ProgressLine
    ) {
      count += 1
      guard count <= Self.maximum + 1 else { return }
      progress.clear()
      errors.line(
        count > Self.maximum
          ? "… further rows that are wrong are only counted"
          : TextLayout.printable("\(place):\(line): \(reason())"))
    }
  }

  private static func tell(_ result: Result, _ invocation: Invocation) {
    let counts = result.counts
    guard invocation[AudienceVerb.json] else {
      var summary = Summary()
      summary.add("rows", counts.rows)
      summary.add("refused", counts.refused, mark: counts.refused > 0 ? .bad : .none)
      summary.add("users", counts.users)
      summary.add("devices", counts.devices)
      summary.add("new follows", counts.follows)
      if counts.tags > 0 { summary.add("new tags", counts.tags) }
      for streamer in counts.divided { summary.add("divided again", streamer) }
      summary.write(to: invocation.output)
      return
    }
    let line: JSONOutput = [
      "rows": .integer(counts.rows), "refused": .integer(counts.refused),
      "users": .integer(counts.users), "devices": .integer(counts.devices),
      "follows": .integer(counts.follows), "tags": .integer(counts.tags),
      "divided": .array(counts.divided.map { .text($0) }),
      "interrupted": .bool(result.isInterrupted),
    ]
    invocation.output.line(line.serialized())
  }
}

extension LineReader.Line {
  fileprivate var ofImport: ImportLine {
    switch self {
    case .text(let bytes): .text(bytes)
    case .tooLong: .tooLong
    }
  }
}
