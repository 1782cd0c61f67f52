import Telemetry
import Terminal

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
