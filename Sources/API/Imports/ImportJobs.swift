import Devices
import EventLoop
import HTTPServer
import JSON
import Keyspace
import Redis
import Text
import Threads

/// Imports that a thread of the API reads, each from its client's connection: rows are written
/// while they come, so that a body of any length needs no more memory than a page of rows, and a
/// client that is faster than Redis is held up. An import ends with its connection, and a client
/// that has not heard the answer sends all of it again.
///
/// With a connection to Redis of its own, because its pipelines are long.
actor ImportJobs {
  private let loop: EventLoop
  private let options: APIOptions
  private let limit: ImportLimit
  private let tell: TellMoves?
  private var redis: RedisClient?
  private var running: [ExactText: ImportRun] = [:]
  private(set) var rows: (taken: Int, refused: Int) = (0, 0)

  /// How often Redis hears of each, and each whether it was deleted.
  private static let interval: Duration = .seconds(1)

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// For an import that has none.
  nonisolated func madeUpID() -> String { Hexadecimal.text(loop.randomNumber(), digits: 16) }

  init(loop: EventLoop, options: APIOptions, limit: ImportLimit, tell: TellMoves?) {
    self.loop = loop
    self.options = options
    self.limit = limit
    self.tell = tell
  }

  /// Ends the imports that are being read, and saves them as interrupted: a client that sends one
  /// again is not told to wait.
  func close() async {
    for run in running.values {
      run.isDeleted = true
      var report = run.report
      report.state = .interrupted
      _ = try? await records().save(report, of: run.number)
    }
    redis?.close()
    redis = nil
  }

  /// Returns when all that was sent is written.
  /// - Parameters:
  ///   - isStrict: it ends with the first line that is refused.
  ///   - onMove: hears of devices that go from one user to another.
  func run(
    _ report: ImportReport, isStrict: Bool, _ reader: ImportRowReader, from stream: HTTPBodyStream,
    onMove: @escaping @Sendable ([DeviceMove]) -> Void
  ) async throws(Problem) -> ImportReport {
    let run = ImportRun(report, isStrict: isStrict, number: loop.randomNumber())
    let id = report.id
    if let reason = limit.take(report.key) {
      throw Problem(
        .tooManyRequests, "\(reason): ask again soon", headers: ["Retry-After": "10"])
    }
    defer { limit.release(report.key) }
    guard running[ExactText(id)] == nil else { throw Self.isRunning }
    running[ExactText(id)] = run
    defer { running[ExactText(id)] = nil }
    let records = records()
    guard try await records.begin(run.report, of: run.number) else { throw Self.isRunning }
    beat(id, of: report.beganAt)
    let importer = AudienceImporter(
      redis: client(), keyspace: options.keyspace,
      plainSet: options.plainSetKey.map { PlainSetPattern($0) }, reader: reader, tell: tell,
      onMove: onMove)
    do throws(Problem) {
      try await read(stream, importer, run)
      run.report.state = .done
    } catch {
      run.report.state = .failed
      run.report.why = error.detail
      rows.taken += importer.counts.rows
      rows.refused += importer.counts.refused
      _ = try? await records.save(run.report, of: run.number)
      throw error
    }
    rows.taken += importer.counts.rows
    rows.refused += importer.counts.refused
    // All is written: an answer that says so is worth more than one that Redis knows of it.
    _ = try? await records.save(run.report, of: run.number)
    return run.report
  }

  /// nil: it is not known, or was deleted.
  func report(_ id: String) async throws(Problem) -> ImportReport? {
    try await records().report(id)
  }

  /// Forgets an import; whoever reads it stops within seconds.
  /// - Returns: whether it was known.
  func delete(_ id: String) async throws(Problem) -> Bool {
    let wasThere = try await records().delete(id)
    running[ExactText(id)]?.isDeleted = true
    return wasThere
  }

  private static let isRunning = Problem(
    .conflict,
    "an import of this id is under way, or was within the last half of a minute: wait for its end, "
      + "or delete it", headers: ["Retry-After": "30"])

  // MARK: reading

  /// Lines of an import before others on the loop get their turn: some milliseconds.
  private static let linesPerTurn = 256

  private func read(
    _ stream: HTTPBodyStream, _ importer: AudienceImporter, _ run: ImportRun
  ) async throws(Problem) {
    var lines = ImportLines()
    var end: Problem?
    // Also when the import breaks off.
    defer { _ = addRefused(importer, run) }
    while end == nil {
      switch await stream.next() {
      case .bytes(let piece):
        lines.append(piece)
        while end == nil, let line = lines.next() {
          end = try await take(line, lines.number, importer, run)
          // Refused rows wait for nothing: others on the loop get their turn here.
          if lines.number % Self.linesPerTurn == 0 { await loop.wait(.zero) }
        }
        continue
      case .end:
        if let line = lines.last() { end = try await take(line, lines.number, importer, run) }
      case .tooLarge:
        end = Problem(
          .tooLarge, "a body has at most \(options.imports.maximumBytes) bytes here; \(Self.begun)")
      case .tooSlow(let reason): end = Problem(.tooSlow, "\(reason); \(Self.begun)")
      case .broken:
        end = Problem(.malformedRequest, "the body did not come to its end; \(Self.begun)")
      }
      break
    }
    // The rows before the end are written in any case.
    try await done { () async throws(DevicesError) in
      run.report.counts = try await importer.finish()
    }
    if let refused = addRefused(importer, run), end == nil { end = refused }
    if let end { throw end }
  }

  private static let begun = "what came before is written, and all may be sent again"

  /// Returns why nothing more is to be read; nil: it goes on.
  private func take(
    _ line: ImportLine, _ number: Int, _ importer: AudienceImporter, _ run: ImportRun
  ) async throws(Problem) -> Problem? {
    if run.isDeleted { return Problem(.conflict, "the import was deleted; \(Self.begun)") }
    let refusal = try await done { () async throws(DevicesError) in
      try await importer.take(line, number: number)
    }
    let refused = addRefused(importer, run)
    run.report.counts = importer.counts
    guard let refusal else { return refused }
    return refuse(refusal.reason, number, run)
  }

  /// Adds the rows that were refused only when their page was written.
  private func addRefused(_ importer: AudienceImporter, _ run: ImportRun) -> Problem? {
    var end: Problem?
    for refused in importer.takeRefused() { end = refuse(refused.reason, refused.line, run) }
    run.report.counts = importer.counts
    return end
  }

  private func refuse(
    _ reason: @autoclosure () -> String, _ line: Int, _ run: ImportRun
  ) -> Problem? {
    run.report.add(reason(), of: line)
    return run.isStrict ? Problem(.invalid, "line \(line): \(reason()); \(Self.begun)") : nil
  }

  // MARK: what others see

  /// While an import is read, or divides followers at its end.
  private func beat(_ id: String, of beganAt: Int64) {
    loop.schedule(after: Self.interval) { [weak self] in
      self?.assumeIsolated { jobs in _ = Task { await jobs.tellProgress(of: id, beganAt) } }
    }
  }

  private func tellProgress(of id: String, _ beganAt: Int64) async {
    guard let run = running[ExactText(id)], run.report.beganAt == beganAt, !run.isDeleted else {
      return
    }
    // Redis may be away: then the import itself finds that out.
    let isThere = try? await records().save(run.report, of: run.number)
    if isThere == false { run.isDeleted = true }
    beat(id, of: beganAt)
  }

  private func records() -> ImportRecords {
    ImportRecords(redis: client(), keyspace: options.keyspace, now: options.wallClock)
  }

  private func client() -> RedisClient {
    if let redis { return redis }
    let log = options.log
    let made = RedisClient(options: options.redis, loop: loop) { log.warning("redis: \($0)") }
    made.start()
    redis = made
    return made
  }
}

/// An import that is read in this process. Confined to its jobs.
final class ImportRun {
  var report: ImportReport
  /// Somebody has deleted it: nothing more is to be read.
  var isDeleted = false
  /// Tells it from another of its id.
  let number: String
  /// It ends with the first line that is refused.
  let isStrict: Bool

  init(_ report: ImportReport, isStrict: Bool, number: UInt64) {
    self.number = Hexadecimal.text(number, digits: 16)
    self.report = report
    self.isStrict = isStrict
  }
}

/// How many imports may be under way at once, on all threads of the API together. One key has all
/// but one of them at most: whoever holds the others for long keeps out no other key.
final class ImportLimit: Sendable {
  let atOnce: Int
  let ofOneKey: Int
  private let running = ThreadLock<[ExactText: Int]>([:])

  init(_ atOnce: Int) {
    self.atOnce = atOnce
    ofOneKey = max(1, atOnce - 1)
  }

  /// Why no further one of this key may begin; nil: it has begun, and `release` is owed.
  func take(_ key: String) -> String? {
    running.withLock { running in
      guard running.values.reduce(0, +) < atOnce else {
        return "\(atOnce) imports are under way here"
      }
      guard running[ExactText(key), default: 0] < ofOneKey else {
        return "\(ofOneKey) imports of \(key) are under way here"
      }
      running[ExactText(key), default: 0] += 1
      return nil
    }
  }

  func release(_ key: String) {
    let key = ExactText(key)
    running.withLock { $0[key] = $0[key].flatMap { $0 > 1 ? $0 - 1 : nil } }
  }
}

/// Records of imports in Redis, so that every process can report the progress of an import that
/// another one reads. Confined to the loop of its Redis client.
struct ImportRecords {
  let redis: RedisClient
  let keyspace: Keyspace
  /// Ms since 1970.
  let now: @Sendable () -> Int64

  /// An import without news for this long has no reader any more: readers report every second.
  static let silenceMilliseconds: Int64 = 30_000

  static let saving = RedisScript([PackageResources.save_import_lua])

  /// Notes that an import begins, and forgets an earlier one of the same id.
  /// - Returns: false when that one is running.
  func begin(_ report: ImportReport, of run: String) async throws(Problem) -> Bool {
    try await write(report, of: run, silence: String(Self.silenceMilliseconds))
  }

  /// - Returns: false when it was deleted.
  func save(_ report: ImportReport, of run: String) async throws(Problem) -> Bool {
    try await write(report, of: run, silence: nil)
  }

  private func write(
    _ report: ImportReport, of run: String, silence: String?
  ) async throws(Problem) -> Bool {
    do throws(RedisError) {
      let replies = try await redis.evaluate(
        Self.saving,
        ScriptCall(
          keys: [keyspace.imported(report.id)],
          arguments: [
            "report": text(report), "state": report.state.rawValue, "now": String(now()),
            "lifetime_seconds": String(Keyspace.importLifetimeSeconds), "run": run,
            "silence_ms": silence,
          ]))
      if let error = replies.firstError { throw RedisError(error, quotes: false) }
      return replies[0].integer == 1
    } catch {
      throw Problem(error)
    }
  }

  func report(_ id: String) async throws(Problem) -> ImportReport? {
    let reply = try await redis.ask(["HMGET", keyspace.imported(id), "report", "heard_ms"])[0]
    guard let text = reply[0].text, let value = try? JSONValue.parse(Array(text.utf8)),
      var report = value.object.flatMap({ ImportReport($0) })
    else { return nil }
    let (silence, isAbsurd) = now().subtractingReportingOverflow(reply[1].decimal ?? 0)
    if report.state == .running, isAbsurd || silence > Self.silenceMilliseconds {
      report.state = .interrupted
    }
    return report
  }

  func delete(_ id: String) async throws(Problem) -> Bool {
    try await redis.ask(["DEL", keyspace.imported(id)])[0].integer == 1
  }

  private func text(_ report: ImportReport) -> String {
    JSONText.compact(.object(JSONObject(report.members)))
  }
}
