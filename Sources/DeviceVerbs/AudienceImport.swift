import Assembly
import Devices
import Telemetry
import Terminal
import VerbSupport

/// `audience import`: NDJSON to Redis, line by line.
enum AudienceImport {
  private static let file = Argument(
    required: "file", .path, help: "Rows as NDJSON; - is standard input")
  private static let strict = Option(flag: "strict", help: "Stop at the first row that is wrong")
  private static let app = Option<String?>(
    "app", .text, value: "TOPIC", help: "The topic of devices that name none")

  static let verb = Verb(
    "import", summary: "Write users, devices and follows from NDJSON",
    discussion: """
      One user a line:

      {"user":"u1","follows":["s42"],"profile":{"locale":"ja","name":"Aiko","badge":3,\
      "muted":false},"devices":[{"token":"0a1b…","environment":"production",\
      "topic":"com.example.live","bound_at":"2026-11-21T08:00:00Z"}]}

      Only user is needed. environment is production unless given; bound_at (also in milliseconds \
      since 1970) is now unless given. All is added to what is there, so the same file may be \
      imported again; streamers whose followers have outgrown their shards are divided again. A \
      token belongs to one user: the last one named with it. Rows that are wrong are told with \
      their line and passed over, and so is who follows a streamer whose followers are in a \
      plain set (audience.plain_set_key): divide it first.
      """,
    options: [strict, app], arguments: [file],
    examples: [
      .init("fanfare audience import followers.ndjson", "A file"),
      .init(
        "zcat followers.ndjson.gz | fanfare audience import - --strict", "A stream, whole or not"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config], handler: run)

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
    // A file that is not there is no reason to wait for Redis.
    let lines = try SharedLines(
      invocation[file], maximumLineBytes: ImportRow.maximumBytes, until: signals)
    let keyspace = Assembly.keyspace(settings)
    let counts = try await CommandRedis.lend(settings) {
      (_, redis) async throws(CommandFailure) -> Counts in
      let target = Target(
        writer: AudienceWriter(redis: redis, keyspace: keyspace),
        follows: AudienceFollows(
          redis: redis, keyspace: keyspace,
          plainSet: settings.audience.plainSetKey.map { PlainSetPattern($0) }),
        sharding: AudienceSharding(redis: redis, keyspace: keyspace))
      return try await write(to: target, lines, reader, invocation, signals)
    }
    tell(counts, invocation)
    if counts.isInterrupted {
      throw CommandFailure(
        .retryLater, "interrupted: what was read until then is written; run it again for the rest")
    }
    return counts.refused == 0 ? .ok : .failed
  }

  private struct Target {
    let writer: AudienceWriter
    let follows: AudienceFollows
    let sharding: AudienceSharding
  }

  private static func write(
    to target: Target, _ lines: SharedLines, _ reader: ImportRowReader, _ invocation: Invocation,
    _ signals: StopSignals
  ) async throws(CommandFailure) -> Counts {
    var counts = Counts()
    var progress = ProgressLine(
      "importing", total: nil, on: invocation.errors, at: MonotonicClock.nowNanoseconds())
    defer { progress.finish(at: MonotonicClock.nowNanoseconds()) }
    do {
      while !signals.isRaised, let line = try lines.next() {
        if case .text(let bytes) = line, bytes.allSatisfy(isBlank) { continue }
        counts.rows += 1
        progress.update(done: counts.rows, at: MonotonicClock.nowNanoseconds())
        do {
          try await write(try read(line, reader), to: target)
          counts.users += 1
        } catch let refusal as ImportRow.Refusal {
          counts.refused += 1
          progress.clear()
          complain(refusal.reason, lines.number, counts.refused, invocation)
          if invocation[strict] { break }
        }
      }
      counts.isInterrupted = signals.isRaised
      try await target.writer.finish()
      counts.divided = try await divide(try await target.follows.finish(), target.sharding)
    } catch let error as DevicesError {
      throw CommandFailure(error)
    } catch let error as CommandFailure {
      throw error
    } catch {
      throw CommandFailure(.failed, "\(error)")
    }
    counts.devices = target.writer.devices
    counts.follows = target.follows.added
    return counts
  }

  /// What JSON calls blank: any other control byte makes a line that is no row.
  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0D
  }

  /// A row leaves no trace when one of its follows is refused.
  private static func write(_ row: ImportRow, to target: Target) async throws {
    for streamer in row.follows {
      do throws(DevicesError) {
        try await target.follows.check(streamer: streamer)
      } catch {
        if error.code == .invalid { throw ImportRow.Refusal(error.message) }
        throw error
      }
    }
    for part in row.rows { try await target.writer.append(part) }
    for streamer in row.follows {
      try await target.follows.append(streamer: streamer, user: row.user)
    }
  }

  /// Those that another does not divide at the same time.
  private static func divide(
    _ outgrown: [String], _ sharding: AudienceSharding
  ) async throws(DevicesError) -> [String] {
    var divided: [String] = []
    for streamer in outgrown {
      do throws(DevicesError) {
        _ = try await sharding.run(streamer: streamer, from: .current)
        divided.append(streamer)
      } catch {
        if error.code != .conflict { throw error }
      }
    }
    return divided
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
      for streamer in counts.divided { summary.add("divided again", streamer) }
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
