import Assembly
import Devices
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

      {"user":"u1","follows":["s42"],"tags":["beta"],"profile":{"locale":"ja","name":"Aiko",\
      "badge":3,"muted":false},"devices":[{"token":"0a1b…","environment":"production",\
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

  private struct Result: Sendable {
    var counts = AudienceImporter.Counts()
    var isInterrupted = false
  }

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let settings = try invocation.loadSettings()
    let reader = ImportRowReader(
      defaultTopic: invocation[app], now: invocation.nowMilliseconds)
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
    do {
      while !signals.isRaised, let line = try lines.next() {
        let refusal = try await importer.take(line.ofImport, number: lines.number)
        let isOverfull = complainOfOverfull(importer, &progress, invocation)
        let counts = importer.counts
        progress.update(done: counts.rows, at: invocation.nowNanoseconds)
        if isOverfull, invocation[strict] { break }
        guard let refusal else { continue }
        progress.clear()
        complain(refusal.reason, lines.number, counts.refused, invocation)
        if invocation[strict] { break }
      }
      result.isInterrupted = signals.isRaised
      _ = try await importer.finish()
      _ = complainOfOverfull(importer, &progress, invocation)
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

  /// What was found only when a page of rows was written. Returns whether there was any.
  private static func complainOfOverfull(
    _ importer: AudienceImporter, _ progress: inout ProgressLine, _ invocation: Invocation
  ) -> Bool {
    let overfull = importer.takeOverfull()
    if !overfull.isEmpty { progress.clear() }
    for (line, reason) in overfull {
      complain(reason, line, importer.counts.refused, invocation)
    }
    return !overfull.isEmpty
  }

  /// A file with the same mistake in every line is told in a screenful.
  private static let maximumComplaints = 20

  private static func complain(
    _ reason: @autoclosure () -> String, _ line: Int, _ count: Int, _ invocation: Invocation
  ) {
    guard count <= maximumComplaints else {
      if count == maximumComplaints + 1 {
        invocation.errors.line("… further rows that are wrong are only counted")
      }
      return
    }
    let place = invocation[file] == "-" ? "standard input" : invocation[file]
    invocation.errors.line(TextLayout.printable("\(place):\(line): \(reason())"))
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
