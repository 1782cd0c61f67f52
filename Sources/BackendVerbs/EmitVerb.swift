import Assembly
import Emission
import Telemetry
import Terminal
import VerbSupport

/// Writes events to Kafka, as a live backend does.
package enum EmitVerb {
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

  package static let verb = Verb(
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
      .init(
        "fanfare emit --ended --streamer s42 --stream b-991",
        "The stream is over: whoever was not told yet need not be"),
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

/// An event as flags.
enum EventFlags {
  private static let id = Option<String?>(
    "id", .text, value: "ID", help: "The event's id; made up unless given. Repeated, it is dropped")
  private static let app = Option<String?>(
    "app", .text, value: "BUNDLE", help: "The app whose devices are addressed")
  private static let streamer = Option<String?>(
    "streamer", .text, value: "ID", help: "Whose followers are told")
  private static let name = Option<String?>("name", .text, help: "The streamer's name")
  private static let stream = Option<String?>(
    "stream", .text, value: "ID", help: "The stream's id; made up unless given")
  private static let title = Option<String?>("title", .text, help: "The stream's title")
  private static let category = Option<String?>("category", .text, help: "The stream's category")
  private static let template = Option<String?>(
    "template", .text, value: "NAME", help: "The template; go-live unless given")
  private static let expiresIn = Option<Duration?>(
    "expires-in", .duration(in: .seconds(1) ... .seconds(2_592_000)),
    help: "How long the news is worth sending, in whole seconds")
  private static let pushesPerSecond = Option<Int?>(
    "pushes-per-second", .integer(in: 1...1_000_000),
    help: "No more pushes of it in a second, by all workers together")
  private static let occurredAt = Option<String?>(
    "occurred-at", .text, value: "RFC3339", help: "When it happened; now unless given")
  private static let data = Option<[NamedValue]>(
    repeated: "data", .named("NAME=VALUE"), value: "NAME=VALUE",
    help: "A value for the template: {{data.NAME}}")

  private static let tag = Option<[String]>(
    repeated: "tag", .text, value: "TAG",
    help: "Tell the users who have this tag, or one of several, instead of the followers")
  private static let user = Option<[String]>(
    repeated: "user", .text, value: "ID", help: "Tell this user instead of the followers")

  private static let ended = Option(
    flag: "ended", help: "The stream is over: nobody more is told of it; takes --streamer, --stream"
  )

  static let all: [any DeclaredOption] = [
    streamer, app, name, title, category, stream, id, template, expiresIn, pushesPerSecond,
    occurredAt, data, tag, user, ended,
  ]
  private static let ofEnd: [any DeclaredOption] = [streamer, stream, occurredAt, ended]

  static func firstGiven(_ invocation: Invocation) -> String? {
    all.first { invocation.isGiven($0) }?.declaration.name
  }

  /// The event's document; what is wrong with its values, the validation says.
  static func document(_ invocation: Invocation) throws(CommandFailure) -> [UInt8] {
    guard !invocation[ended] else { return try end(invocation) }
    guard let streamerID = invocation[streamer], let bundle = invocation[app] else {
      throw CommandFailure(
        .usage, "--streamer and --app are needed, or --file with whole events")
    }
    let made = hexadecimal(UInt64.random(in: .min ... .max))
    var streamerObject: JSONObject = ["id": .text(streamerID)]
    if let name = invocation[name] { streamerObject["name"] = .text(name) }
    var streamObject: JSONObject = ["id": .text(invocation[stream] ?? "stream-\(made)")]
    if let title = invocation[title] { streamObject["title"] = .text(title) }
    if let category = invocation[category] { streamObject["category"] = .text(category) }
    var event: JSONObject = [
      "id": .text(invocation[id] ?? "live-\(made)"), "app": .text(bundle),
      "streamer": .object(streamerObject), "stream": .object(streamObject),
    ]
    if !invocation[data].isEmpty {
      var object = JSONObject()
      for pair in invocation[data] { object[pair.name] = .text(pair.value) }
      event["data"] = .object(object)
    }
    if let template = invocation[template] { event["template"] = .text(template) }
    event["occurred_at"] = .text(
      invocation[occurredAt] ?? WallClock.rfc3339(invocation.nowMilliseconds))
    if let lifetime = invocation[expiresIn] {
      guard lifetime.components.attoseconds == 0 else {
        throw CommandFailure(.usage, "--expires-in takes whole seconds")
      }
      event["expires_in"] = .integer(Int(lifetime.components.seconds))
    }
    if let pushes = invocation[pushesPerSecond] { event["pushes_per_second"] = .integer(pushes) }
    if let audience = try audience(invocation) { event["audience"] = audience }
    return Array(JSONOutput.object(event).serialized().utf8)
  }

  private static func audience(_ invocation: Invocation) throws(CommandFailure) -> JSONOutput? {
    let (tags, users) = (invocation[tag], invocation[user])
    switch (tags.count, users.count) {
    case (0, 0): return nil
    case (1, 0): return ["tag": .text(tags[0])]
    case (_, 0): return ["or": .array(tags.map { ["tag": .text($0)] })]
    case (0, _): return ["users": .array(users.map { .text($0) })]
    default: throw CommandFailure(.usage, "--tag and --user do not go together")
    }
  }

  private static func end(_ invocation: Invocation) throws(CommandFailure) -> [UInt8] {
    let names = Set(ofEnd.map(\.declaration.name))
    let given = all.first {
      !names.contains($0.declaration.name) && invocation.isGiven($0)
    }
    if let name = given?.declaration.name {
      throw CommandFailure(.usage, "--ended and --\(name) do not go together")
    }
    guard let streamerID = invocation[streamer], let streamID = invocation[stream] else {
      throw CommandFailure(.usage, "--ended needs --streamer and --stream")
    }
    let event: JSONObject = [
      "type": .text("stream.ended"), "streamer": .object(["id": .text(streamerID)]),
      "stream": .object(["id": .text(streamID)]),
      "occurred_at": .text(
        invocation[occurredAt] ?? WallClock.rfc3339(invocation.nowMilliseconds)),
    ]
    return Array(JSONOutput.object(event).serialized().utf8)
  }

  private static func hexadecimal(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
