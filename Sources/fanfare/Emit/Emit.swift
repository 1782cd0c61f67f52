import Assembly
import Ingest
import Kafka
import Settings
import Telemetry
import Terminal
import Threads

/// Writes events to Kafka, as a live backend does.
enum EmitVerb {
  private static let file = Option<String?>(
    "file", short: "f", .path, value: "FILE",
    help: "Events as JSON instead of flags: one, or one a line; - is standard input")
  private static let timeout = Option(
    "timeout", .duration(in: .milliseconds(100) ... .seconds(300)), default: .seconds(10),
    help: "How long Kafka may take")
  private static let json = Option(flag: "json", help: "Print one JSON object for each event")
  private static let anyTemplate = Option(
    flag: "any-template",
    help: "Do not ask whether templates.directory holds the template: it is with the workers")

  /// What an event without a template gets: every set of templates is supposed to have it.
  private static let usualTemplate = "go-live"

  static let verb = Verb(
    "emit", summary: "Write events to Kafka",
    discussion: """
      Each event is validated as the worker validates it; nothing is sent while one of them is \
      wrong. The record's key is the streamer's id. When Kafka has acknowledged an event, its \
      topic, partition and offset are printed.

      A template that templates.directory does not hold is a mistake: workers would put the event \
      aside. On a machine without that directory a template other than go-live needs --any-template.
      """,
    options: EventFlags.all + [file, anyTemplate, timeout, json] + ConfigurationOptions.all,
    examples: [
      .init(
        "fanfare emit --streamer s42 --name Aiko --app com.example.live --title 'Speedrun night'",
        "Tell the followers of s42"),
      .init(
        "fanfare emit --streamer s42 --app com.example.live --expires-in 5m --data game=Hades",
        "With a shorter life and a value for the template's {{data.game}}"),
      .init("fanfare emit --file events.ndjson --json", "Many, with an answer for scripts"),
    ], exitCodes: [.ok, .failed, .unavailable, .config]
  ) { invocation in
    await invocation.reporting { () async throws(CommandFailure) in try await run(invocation) }
  }

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let settings = try invocation.loadSettings()
    let reader = EventReader(options: Assembly.ingestOptions(settings))
    let events: [ReadEvent]
    if let path = invocation[file] {
      if let given = EventFlags.firstGiven(invocation) {
        throw CommandFailure(.usage, "--file and --\(given) do not go together")
      }
      events = try reader.read(file: path)
    } else {
      events = [try reader.read(flags: try EventFlags.document(invocation))]
    }
    if !invocation[anyTemplate] { try checkTemplates(of: events, settings, invocation) }
    return try await send(events, settings, invocation)
  }

  /// Looks at the names only: whether the templates are sound, `check` says.
  private static func checkTemplates(
    of events: [ReadEvent], _ settings: Settings, _ invocation: Invocation
  ) throws(CommandFailure) {
    let directory = settings.templates.directory
    let named = Set(events.map(\.event.template)).sorted()
    let known = TemplateFile.names(in: directory)
    let unknown = named.filter { name in
      known.map { !$0.contains(name) } ?? (name != usualTemplate)
    }
    guard !unknown.isEmpty else { return }
    throw CommandFailure(
      .failed,
      "nothing was sent: workers put aside what they have no template for "
        + "(--any-template sends it all the same)",
      findings: unknown.map { name in
        guard let known else {
          return "templates.directory (\(directory)) cannot be read: whether workers have the "
            + "template \(name) is not known"
        }
        let guess = Suggestion.nearest(to: name, among: known).map { " (did you mean \($0)?)" }
        return "templates.directory (\(directory)) holds no template \(name)" + (guess ?? "")
      })
  }

  private static func send(
    _ events: [ReadEvent], _ settings: Settings, _ invocation: Invocation
  ) async throws(CommandFailure) -> ExitCode {
    let topic = settings.kafka.topics.events
    var options = Assembly.kafkaOptions(settings)
    options.messageTimeout = invocation[timeout]
    // One after the other: waiting for company would only cost time.
    options.linger = .zero
    let words = KafkaWords()
    do {
      // Says why nobody answers; a record that is not acknowledged says only that.
      _ = try KafkaAdmin(options, log: words.take)
        .metadata(topics: [topic], timeout: invocation[timeout])
      let producer = try KafkaProducer(options, log: words.take)
      defer { producer.close(timeout: .seconds(1)) }
      for event in events {
        let delivery = try await producer.send(
          topic: topic, key: Array(event.streamer.utf8), value: event.document)
        tell(event, topic, delivery, invocation)
      }
      return .ok
    } catch {
      var failure = CommandFailure(error)
      if let last = words.last, error.code == .timedOut {
        failure = CommandFailure(failure.code, "\(failure.message); librdkafka: \(last)")
      }
      throw failure
    }
  }

  private static func tell(
    _ event: ReadEvent, _ topic: String, _ delivery: KafkaDelivery, _ invocation: Invocation
  ) {
    guard invocation[json] else {
      invocation.output.line(
        "\(event.id) is in \(topic), partition \(delivery.partition), offset \(delivery.offset)")
      return
    }
    let line: JSONOutput = [
      "id": .text(event.id), "topic": .text(topic),
      "partition": .integer(Int(delivery.partition)), "offset": .integer(Int(delivery.offset)),
    ]
    invocation.output.line(line.serialized())
  }
}

/// librdkafka's last complaint, for the case that nothing else explains a failure.
final class KafkaWords: Sendable {
  private let text = ThreadLock<String?>(nil)

  var last: String? { text.withLock { $0 } }

  var take: KafkaLog {
    { line in
      guard line.level == .error || line.level == .warning else { return }
      self.text.withLock { $0 = line.message }
    }
  }
}
