import Devices
import EventLoop
import Keyspace
import Redis
import Settings
import Telemetry
import Terminal

/// `audience import`: NDJSON to Redis, line by line.
enum AudienceImport {
  private static let file = Argument(
    required: "file", .path, help: "Rows as NDJSON; - is standard input")
  private static let strict = Option(flag: "strict", help: "Stop at the first row that is wrong")
  private static let app = Option<String?>(
    "app", .text, value: "BUNDLE", help: "The app of devices that name no topic")

  static let verb = Verb(
    "import", summary: "Write users, devices and follows from NDJSON",
    discussion: """
      One user a line:

      {"user":"u1","follows":["s42"],"profile":{"locale":"ja","name":"Aiko","badge":3,\
      "muted":false},"devices":[{"token":"0a1b…","environment":"production",\
      "topic":"com.example.live","bound_at":"2026-11-21T08:00:00Z"}]}

      Only user is needed. environment is production unless given; bound_at (also in milliseconds \
      since 1970) is now unless given. All is added to what is there, so the same file may be \
      imported again; streamers whose followers have outgrown their shards are divided anew. Rows \
      that are wrong are told with their line and passed over.
      """,
    options: [strict, app], arguments: [file],
    examples: [
      .init("fanfare audience import followers.ndjson", "A file"),
      .init(
        "zcat followers.ndjson.gz | fanfare audience import - --strict", "A stream, whole or not"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config]
  ) { invocation in
    await invocation.reporting { () async throws(CommandFailure) in try await run(invocation) }
  }

  private struct Counts: Sendable {
    var rows = 0
    var refused = 0
    var users = 0
    var devices = 0
    var follows = 0
    var divided: [String] = []
    var isInterrupted = false
  }

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let settings = try invocation.loadSettings()
    let reader = ImportRowReader(
      defaultTopic: invocation[app], now: WallClock.nowMilliseconds())
    let signals = StopSignals.catchAll()
    let keyspace = Assembly.keyspace(settings)
    let counts = try await CommandLoop.withRedis(settings) {
      (_: isolated LoopActor, redis: RedisClient) async throws(CommandFailure) -> Counts in
      try await write(redis, keyspace, reader, invocation, signals)
    }
    tell(counts, invocation)
    if counts.isInterrupted {
      throw CommandFailure(
        .retryLater, "interrupted: what was read until then is written; run it again for the rest")
    }
    return counts.refused == 0 ? .ok : .failed
  }

  private static func write(
    _ redis: RedisClient, _ keyspace: Keyspace, _ reader: ImportRowReader,
    _ invocation: Invocation, _ signals: StopSignals
  ) async throws(CommandFailure) -> Counts {
    var counts = Counts()
    var progress = ProgressLine(
      "importing", total: nil, on: invocation.errors, at: MonotonicClock.nowNanoseconds())
    defer { progress.finish(at: MonotonicClock.nowNanoseconds()) }
    var lines = try LineReader(invocation[file], maximumLineBytes: ImportRow.maximumBytes)
    let writer = AudienceWriter(redis: redis, keyspace: keyspace)
    let follows = AudienceFollows(redis: redis, keyspace: keyspace)
    do {
      while !signals.isRaised, let line = try lines.next() {
        if case .text(let bytes) = line, bytes.allSatisfy({ $0 <= 0x20 }) { continue }
        counts.rows += 1
        progress.update(done: counts.rows, at: MonotonicClock.nowNanoseconds())
        do {
          let row = try read(line, reader)
          for part in row.rows { try await writer.append(part) }
          for streamer in row.follows {
            try await follows.append(streamer: streamer, user: row.user)
          }
          counts.users += 1
        } catch let refusal as ImportRow.Refusal {
          counts.refused += 1
          progress.clear()
          complain(refusal.reason, lines.number, counts.refused, invocation)
          if invocation[strict] { break }
        }
      }
      counts.isInterrupted = signals.isRaised
      try await writer.finish()
      let outgrown = try await follows.finish()
      for streamer in outgrown {
        _ = try await AudienceSharding(redis: redis, keyspace: keyspace)
          .run(streamer: streamer, from: .current)
      }
      counts.divided = outgrown
    } catch let error as DevicesError {
      throw CommandFailure(error)
    } catch let error as CommandFailure {
      throw error
    } catch {
      throw CommandFailure(.failed, "\(error)")
    }
    counts.devices = writer.devices
    counts.follows = follows.added
    return counts
  }

  private static func read(
    _ line: LineReader.Line, _ reader: ImportRowReader
  ) throws(ImportRow.Refusal) -> ImportRow {
    switch line {
    case .text(let bytes): return try reader.read(bytes)
    case .tooLong:
      throw ImportRow.Refusal("longer than \(ImportRow.maximumBytes >> 20) MiB")
    }
  }

  /// A file with the same mistake in every line is told in a screenful.
  private static let maximumComplaints = 20

  private static func complain(
    _ reason: String, _ line: Int, _ count: Int, _ invocation: Invocation
  ) {
    guard count <= maximumComplaints else {
      if count == maximumComplaints + 1 {
        invocation.errors.line("… further rows that are wrong are only counted")
      }
      return
    }
    let place = invocation[file] == "-" ? "standard input" : invocation[file]
    invocation.errors.line(TextLayout.printable("\(place):\(line): \(reason)"))
  }

  private static func tell(_ counts: Counts, _ invocation: Invocation) {
    guard invocation[AudienceVerb.json] else {
      var summary = Summary()
      summary.add("rows", counts.rows)
      summary.add("refused", counts.refused, mark: counts.refused > 0 ? .bad : .none)
      summary.add("users", counts.users)
      summary.add("devices", counts.devices)
      summary.add("new follows", counts.follows)
      for streamer in counts.divided { summary.add("divided anew", streamer) }
      summary.write(to: invocation.output)
      return
    }
    let line: JSONOutput = [
      "rows": .integer(counts.rows), "refused": .integer(counts.refused),
      "users": .integer(counts.users), "devices": .integer(counts.devices),
      "follows": .integer(counts.follows),
      "divided": .array(counts.divided.map { .text($0) }),
      "interrupted": .bool(counts.isInterrupted),
    ]
    invocation.output.line(line.serialized())
  }
}
