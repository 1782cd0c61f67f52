import Assembly
import DeadLetters
import Kafka
import Redis
import Terminal
import VerbSupport

/// `dlq …`: lists and shows dead letters, sends them in again, and drops them.
package enum DLQVerb {
  static let json = Option(flag: "json", help: "Print one JSON object")
  private static let limit = Option(
    "limit", .integer(in: 1...1000), default: 20, value: "N",
    help: "The largest number of letters to show")
  private static let raw = Option(
    flag: "raw", help: "Print the body alone, as it is, for a corrected copy")
  static let letter = Argument<String>(
    required: "letter", .text, help: "The letter, as list shows it: partition:offset")
  static let letters = Argument<[String]>(
    rest: "letter", .text, help: "Letters, as list shows them: partition:offset")
  static let dryRun = Option(
    flag: "dry-run", help: "Say what would be done, and write nothing")
  static let confirmed = Option(
    flag: "yes", short: "y", help: "Do not ask before more than 1,000 letters")
  static let repeats = Option(
    flag: "again", help: "Replay letters too that were replayed or dropped before")
  static let anyTemplate = Option(
    flag: "any-template", help: "Replay events too whose template is not in templates.directory")
  static let file = Option<String?>(
    "file", .path, value: "FILE",
    help: "Send the body in this file instead of the letter's own (- is standard input)")

  package static let verb = Verb(
    group: "dlq", summary: "List, show, replay and drop dead letters",
    discussion: """
      Records that no retry can save are in the topic kafka.topics.dead_letters. These verbs read \
      it without a consumer group, the newest letters first. Redis knows for 14 days which letters \
      were replayed or dropped.
      """,
    options: [json] + ConfigurationOptions.all, verbs: [list, show, replay, drop],
    examples: [
      .init("fanfare dlq list --since 2h", "Show the letters of the last two hours"),
      .init("fanfare dlq show 0:12", "Show a letter, and what a replay would do"),
      .init("fanfare dlq replay --code unprocessable --dry-run", "Count what could be replayed"),
    ])

  private static let codes: [ExitCode] = [.ok, .failed, .usage, .unavailable, .config]

  private static let list = Verb(
    "list", summary: "Show the newest dead letters",
    discussion: "Dropped letters are shown with --all only. \(DLQFlags.help)",
    options: DLQFlags.filters + [DLQFlags.scan, limit],
    examples: [
      .init("fanfare dlq list --code wrong_type", "Show letters with one error code"),
      .init("fanfare dlq list --text 'Schema Registry'", "Search reasons and headers"),
    ], exitCodes: codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let filter = try DLQFlags.filter(invocation)
    let search = try await DLQConnection.lend(invocation) {
      (connection) async throws(CommandFailure) in try await connection.search(filter)
    }
    if invocation[json] {
      let object = DLQReport.json(search, atMost: invocation[limit])
      invocation.output.line(object.serialized())
      return .ok
    }
    let shown = search.rows.prefix(invocation[limit])
    if !shown.isEmpty { DLQReport.table(shown).write(to: invocation.output) }
    guard search.scanned > 0 else {
      invocation.errors.line("Kafka keeps no dead letters")
      return .ok
    }
    let more = shown.count < search.matched ? "; \(shown.count) are shown" : ""
    invocation.errors.line("\(search.matched) of \(search.window)\(more)")
    return .ok
  }

  private static let show = Verb(
    "show", summary: "Show a dead letter, and what a replay would do",
    discussion: """
      A body that is not UTF-8 is shown as hexadecimal digits. The body of a record of the \
      stragglers' topic contains device tokens, so it is printed with --raw only.
      """,
    options: [raw], arguments: [letter],
    examples: [
      .init("fanfare dlq show 0:12", "Show reason, headers and body"),
      .init("fanfare dlq show 0:12 --raw > event.json", "Get the body in order to correct it"),
    ], exitCodes: codes
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    let id = try DLQConnection.id(invocation[letter])
    let found = try await DLQConnection.lend(invocation) {
      (connection) async throws(CommandFailure) in try await connection.details(of: id)
    }
    if invocation[raw] {
      let value = found.record.value ?? []
      guard let text = String(validating: value, as: UTF8.self) else {
        throw CommandFailure(.failed, "the body is not UTF-8; without --raw it is shown as digits")
      }
      invocation.output.write(text)
    } else if invocation[json] {
      invocation.output.line(DLQReport.json(found).serialized())
    } else {
      DLQReport.write(found, to: invocation.output)
    }
    return .ok
  }

  private static let replay = Verb(
    "replay", summary: "Send dead letters in again, or one with a corrected body",
    discussion: """
      Each record goes back to the topic that it came from, with its own key and bytes. It keeps \
      headers of CloudEvents, traceparent and fanfare-source, and gets fanfare-replayed. Workers \
      go on with the same fan-out, so a second replay sends nothing twice. Letters of expired \
      events, and letters that a worker would refuse again, are skipped.

      Name letters or a filter. For more than 1,000 letters the command asks you to type the \
      number, unless you give --yes. With --file, one letter is sent with another body; the \
      differences are printed, and the letter stays as it is. \(DLQFlags.help)
      """,
    options: [dryRun, confirmed, repeats, anyTemplate, file] + DLQFlags.filters + [DLQFlags.scan],
    arguments: [letters],
    examples: [
      .init("fanfare dlq replay 0:12 0:13", "Replay two letters"),
      .init(
        "fanfare dlq replay --code unknown_template --since 1d",
        "Replay the letters of a day after you added a template"),
      .init("fanfare dlq replay 0:12 --file event.json", "Send a corrected event"),
    ], exitCodes: codes + [.retryLater]
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    if let path = invocation[file] { return try await DLQAct.correct(path, invocation) }
    return try await DLQAct.run(.replay, invocation)
  }

  private static let drop = Verb(
    "drop", summary: "Mark dead letters as not needed",
    discussion: """
      Lists leave dropped letters out, and a replay skips them. Kafka keeps their records for as \
      long as the topic says. Name letters or a filter. For more than 1,000 letters the command \
      asks you to type the number, unless you give --yes. \(DLQFlags.help)
      """,
    options: [dryRun, confirmed] + DLQFlags.filters + [DLQFlags.scan], arguments: [letters],
    examples: [
      .init("fanfare dlq drop 0:12", "Drop one letter"),
      .init("fanfare dlq drop --code not_json --until 7d", "Drop old letters that are no events"),
    ], exitCodes: codes + [.retryLater]
  ) { (invocation) async throws(CommandFailure) -> ExitCode in
    try await DLQAct.run(.drop, invocation)
  }
}

/// The topic of dead letters, and Redis, for one command.
struct DLQConnection {
  let topic: LetterTopic
  let marks: LetterMarks
  let judge: LetterJudge
  /// Those whose records name no device.
  let plainTopics: [String]
  private let now: () -> Int64

  struct Details: Sendable {
    let row: LetterSearch.Row
    let record: KafkaMessage
    let preview: LetterPreview
    /// Its body names devices.
    let holdsTokens: Bool
  }

  static func lend<T: Sendable>(
    _ invocation: Invocation,
    _ body: @Sendable (DLQConnection) async throws(CommandFailure) -> T
  ) async throws(CommandFailure) -> T {
    let settings = try invocation.loadSettings()
    let keyspace = Assembly.keyspace(settings)
    let ingest = Assembly.ingestOptions(settings)
    var limits = LetterTopic.Limits()
    if invocation.isGiven(DLQFlags.scan) { limits.letters = invocation[DLQFlags.scan] }
    let topic = LetterTopic(
      Assembly.kafkaOptions(settings), name: ingest.deadLettersTopic, limits: limits
    ) { _ in }
    var names: [String]?
    if !invocation.isGiven(DLQVerb.anyTemplate) {
      names = TemplateFile.names(in: settings.templates.directory)
    }
    let known = names
    let judge = LetterJudge(ingest) { template in
      guard let known, !known.contains(template) else { return nil }
      return "templates.directory holds no template \(template) (--any-template replays it)"
    }
    return try await CommandRedis.lend(settings) {
      (_, redis) async throws(CommandFailure) -> T in
      let connection = DLQConnection(
        topic: topic, marks: LetterMarks(redis: redis, keyspace: keyspace), judge: judge,

        plainTopics: [ingest.eventsTopic, ingest.segmentsTopic, ingest.bulkTopic],
        now: { invocation.nowMilliseconds })
      return try await body(connection)
    }
  }

  static func id(_ text: String) throws(CommandFailure) -> LetterID {
    guard let id = LetterID(text) else {
      throw CommandFailure(.usage, "\(text) is no letter: they are like 0:12, as list shows them")
    }
    return id
  }

  func search(_ filter: LetterFilter) async throws(CommandFailure) -> LetterSearch {
    let scan: LetterScan
    do throws(KafkaError) {
      scan = try await topic.scan()
    } catch {
      throw CommandFailure(.kafka(error))
    }
    do throws(DeadLettersError) {
      return try await LetterSearch(scan, filter, marks: marks)
    } catch {
      throw CommandFailure(error)
    }
  }

  func details(of id: LetterID) async throws(CommandFailure) -> Details {
    let record: KafkaMessage?
    do throws(KafkaError) {
      record = try await topic.records([id]).records.first
    } catch {
      throw CommandFailure(.kafka(error))
    }
    guard let record else {
      throw CommandFailure(.failed, "Kafka has no letter \(id), or no longer")
    }
    let summary = LetterSummary(record)
    let mark: LetterMark
    do throws(RedisError) {
      mark = try await marks.marks(of: [summary])[id] ?? .new
    } catch {
      throw CommandFailure(error)
    }
    return Details(
      row: .init(letter: summary, mark: mark), record: record,
      preview: judge.judge(record, now: now()).preview,
      holdsTokens: record.mayHoldTokens(except: plainTopics))
  }

  /// - Parameter producer: nil: nothing is to be sent.
  func acts(_ producer: KafkaProducer?) -> LetterActs {
    LetterActs(topic, judge: judge, marks: marks, now: now) {
      (record) async throws(KafkaError) in
      _ = try await producer?.send(
        topic: record.topic, key: record.key, value: record.value, headers: record.headers)
    }
  }
}

extension CommandFailure {
  init(_ error: DeadLettersError) {
    switch error {
    case .redis(let error): self.init(error)
    case .busy: self.init(.unavailable, error.description)
    case .kafka(let error):
      let code: ExitCode =
        switch error.code {
        case .configuration, .authentication, .authorization: .config
        case .tooLarge, .unsupported: .failed
        default: .unavailable
        }
      self.init(code, error.description)
    }
  }
}
