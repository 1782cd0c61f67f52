import Assembly
import Emission
import Telemetry
import Terminal
import VerbSupport

/// Writes events to Kafka, as a live backend does.
package enum EmitVerb {
  private static let file = Option<String?>(
    "file", short: "f", .path, value: "FILE",
    help: "Read events from a JSON file, one event or one on each line; - is standard input")
  private static let timeout = Option(
    "timeout", .duration(in: .milliseconds(100) ... .seconds(300)), default: .seconds(10),
    help: "The time limit for Kafka")
  private static let json = Option(flag: "json", help: "Print one JSON object for each event")
  private static let anyTemplate = Option(
    flag: "any-template",
    help: "Accept a template that only the workers have: do not look for it in templates.directory")

  package static let verb = Verb(
    "emit", summary: "Write events to Kafka",
    discussion: """
      Each event is validated as a worker validates it. If one of them is wrong, none is sent. The \
      record's key is the streamer's id. When Kafka has acknowledged an event, the command prints \
      its topic, partition and offset.

      A template that is not in templates.directory is an error, because workers would not send \
      the event. On a machine without that directory, every template except go-live needs \
      --any-template.
      """,
    options: EventFlags.all + [file, anyTemplate, timeout, json] + ConfigurationOptions.all,
    examples: [
      .init(
        "fanfare emit --streamer s42 --name Aiko --app com.example.live --title 'Speedrun night'",
        "Notify the followers of s42"),
      .init(
        "fanfare emit --streamer s42 --app com.example.live --expires-in 5m --data game=Hades",
        "Set a shorter lifetime, and a value for the template's {{data.game}}"),
      .init(
        "fanfare emit --file events.ndjson --json",
        "Send many events, and print JSON for a script"),
      .init(
        "fanfare emit --ended --streamer s42 --stream b-991",
        "End the notifications of a stream that is over"),
    ], exitCodes: [.ok, .failed, .unavailable, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let settings = try invocation.loadSettings()
    let reader = EventReader(
      options: Assembly.ingestOptions(settings), now: invocation.nowMilliseconds)
    let events: [ReadEvent]
    if let path = invocation[file] {
      if let given = EventFlags.firstGiven(invocation) {
        throw CommandFailure(.usage, "--file and --\(given) do not go together")
      }
      events = try reader.read(file: path)
    } else {
      events = [try reader.read(flags: try EventFlags.document(invocation))]
    }
    if !invocation[anyTemplate] {
      let directory = settings.templates.directory
      try KnownTemplates(directory: directory, names: TemplateFile.names(in: directory))
        .check(events)
    }
    let topic = settings.kafka.topics.events
    let sender = EventSender(
      Assembly.kafkaOptions(settings), topic: topic, timeout: invocation[timeout])
    try await sender.send(events) { event, delivery in
      tell(
        event, topic, partition: Int(delivery.partition), offset: Int(delivery.offset), invocation)
    }
    return .ok
  }

  private static func tell(
    _ event: ReadEvent, _ topic: String, partition: Int, offset: Int, _ invocation: Invocation
  ) {
    guard invocation[json] else {
      invocation.output.line(
        "\(event.name) is in \(topic), partition \(partition), offset \(offset)")
      return
    }
    let line: JSONOutput = [
      "id": .text(event.event?.id ?? ""), "topic": .text(topic), "partition": .integer(partition),
      "offset": .integer(offset),
    ]
    invocation.output.line(line.serialized())
  }
}
