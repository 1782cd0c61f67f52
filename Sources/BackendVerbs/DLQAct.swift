import Assembly
import DeadLetters
import Kafka
import Terminal
import VerbSupport

/// `dlq replay` and `dlq drop`.
enum DLQAct {
  /// More than these must be confirmed.
  private static let unconfirmed = 1_000
  private static let acknowledgedWithin: Duration = .seconds(10)
  /// A corrected body; the settings may allow less.
  private static let maximumFileBytes = 1 << 20

  static func run(
    _ act: LetterAct, _ invocation: Invocation
  ) async throws(CommandFailure) -> ExitCode {
    let filter = try DLQFlags.filter(invocation)
    let named = try ids(invocation, filter)
    let signals = StopSignals.catchAll()
    let isDry = invocation[DLQVerb.dryRun]
    let producer = act == .replay && !isDry ? try makeProducer(invocation) : nil
    defer { producer?.close(timeout: .seconds(1)) }
    let report = try await DLQConnection.lend(invocation) {
      (connection) async throws(CommandFailure) -> LetterActReport in
      let chosen: [LetterID]
      if let named {
        chosen = named
      } else {
        chosen = try await letters(by: filter, connection, invocation)
      }
      guard !chosen.isEmpty else { return LetterActReport() }
      if !isDry { try confirm(act, chosen.count, invocation, signals) }
      var progress = ProgressLine(
        act.rawValue, total: chosen.count, on: invocation.errors, at: invocation.nowNanoseconds)
      let repeats = act == .replay && invocation[DLQVerb.repeats]
      do throws(DeadLettersError) {
        let report = try await connection.acts(producer).run(
          act, chosen, isDry: isDry, repeats: repeats
        ) { report in
          progress.update(done: report.seen, at: invocation.nowNanoseconds)
          return !signals.isRaised
        }
        progress.finish(at: invocation.nowNanoseconds)
        return report
      } catch {
        progress.finish(note: "failed", at: invocation.nowNanoseconds)
        throw CommandFailure(error)
      }
    }
    if invocation[DLQVerb.json] {
      invocation.output.line(DLQReport.json(report, isDry: isDry).serialized())
    } else {
      DLQReport.write(report, of: act, isDry: isDry, to: invocation.output)
    }
    guard !report.isStopped else {
      throw CommandFailure(
        .retryLater,
        "interrupted: run it again for the rest; what was replayed or dropped is skipped then")
    }
    return report.refused > 0 && !isDry ? .failed : .ok
  }

  /// The letters that the command line names; nil: the filter says which.
  private static func ids(
    _ invocation: Invocation, _ filter: LetterFilter
  ) throws(CommandFailure) -> [LetterID]? {
    let named = invocation[DLQVerb.letters]
    guard named.isEmpty else {
      if let flag = DLQFlags.firstGiven(invocation) {
        throw CommandFailure(.usage, "letters and --\(flag) do not go together")
      }
      var ids: [LetterID] = []
      for text in named { ids.append(try DLQConnection.id(text)) }
      return ids
    }
    guard filter.isSelective else {
      throw CommandFailure(
        .usage,
        "name letters, or a filter: --event, --streamer, --code, --text, --since or --until")
    }
    return nil
  }

  private static func letters(
    by filter: LetterFilter, _ connection: DLQConnection, _ invocation: Invocation
  ) async throws(CommandFailure) -> [LetterID] {
    let search = try await connection.search(filter)
    invocation.errors.line("\(search.matched) of \(search.window)")
    return search.rows.map(\.letter.id)
  }

  private static func confirm(
    _ act: LetterAct, _ count: Int, _ invocation: Invocation, _ signals: StopSignals
  ) throws(CommandFailure) {
    guard count > unconfirmed, !invocation[DLQVerb.confirmed] else { return }
    invocation.errors.write("Type \(count) to \(act.rawValue) so many letters: ")
    var lines = try LineReader.opened("-", maximumLineBytes: 64, until: signals)
    guard case .text(let typed)? = try lines.nextLine(),
      String(decoding: typed, as: UTF8.self) == "\(count)"
    else {
      invocation.errors.line()
      throw CommandFailure(.failed, "nothing was written: the number was not typed (or give --yes)")
    }
  }

  private static func makeProducer(
    _ invocation: Invocation
  ) throws(CommandFailure) -> KafkaProducer {
    var options = Assembly.kafkaOptions(try invocation.loadSettings())
    options.messageTimeout = acknowledgedWithin
    do throws(KafkaError) {
      return try KafkaProducer(options) { _ in }
    } catch {
      throw CommandFailure(.kafka(error))
    }
  }

  // MARK: a corrected copy

  static func correct(
    _ path: String, _ invocation: Invocation
  ) async throws(CommandFailure) -> ExitCode {
    if let flag = DLQFlags.firstGiven(invocation) {
      throw CommandFailure(.usage, "--file and --\(flag) do not go together")
    }
    guard let named = invocation[DLQVerb.letters].first, invocation[DLQVerb.letters].count == 1
    else { throw CommandFailure(.usage, "--file is for one letter") }
    let id = try DLQConnection.id(named)
    let text = try CommandFile.text(path, maximumBytes: maximumFileBytes)
    let isDry = invocation[DLQVerb.dryRun]
    let producer = isDry ? nil : try makeProducer(invocation)
    defer { producer?.close(timeout: .seconds(1)) }
    let corrected = try await DLQConnection.lend(invocation) {
      (connection) async throws(CommandFailure) -> DLQConnection.Details in
      let before = try await connection.details(of: id)
      guard before.row.mark.state == .new || invocation[DLQVerb.repeats] || isDry else {
        throw CommandFailure(
          .failed, "\(id) was \(before.row.mark.state.rawValue) before (--again sends it again)")
      }
      let result: (letter: KafkaMessage, preview: LetterPreview)?
      do throws(DeadLettersError) {
        result = try await connection.acts(producer).correct(
          id, body: Array(text.utf8), isDry: isDry, repeats: invocation[DLQVerb.repeats])
      } catch {
        throw CommandFailure(error)
      }
      guard let result else {
        throw CommandFailure(.failed, "Kafka has no letter \(id), or no longer")
      }
      return DLQConnection.Details(
        row: before.row, record: before.record, preview: result.preview,
        holdsTokens: before.holdsTokens)
    }
    return try tell(corrected, text, isDry, invocation)
  }

  private static func tell(
    _ corrected: DLQConnection.Details, _ text: String, _ isDry: Bool, _ invocation: Invocation
  ) throws(CommandFailure) -> ExitCode {
    let id = corrected.row.letter.id
    let isSent = corrected.preview.fits && !isDry
    if invocation[DLQVerb.json] {
      let object: JSONOutput = [
        "letter": .text("\(id)"), "replayed": .integer(isSent ? 1 : 0),
        "fits": .bool(corrected.preview.fits), "why": .text(corrected.preview.why),
      ]
      invocation.output.line(object.serialized())
    } else {
      DLQReport.writeDifference(
        LetterBody(corrected.record.value ?? []), text, to: invocation.output)
    }
    guard corrected.preview.fits else {
      throw CommandFailure(.failed, "nothing was sent: \(corrected.preview.why)")
    }
    invocation.errors.line(
      isSent
        ? "\(id) is replayed as \(TextLayout.printable(corrected.preview.why))"
        : "nothing was sent; it would be \(TextLayout.printable(corrected.preview.why))")
    return .ok
  }
}
