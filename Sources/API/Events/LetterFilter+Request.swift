import DeadLetters
import JSON
import Text

/// Filters of dead letters, as a query and as a body have them.
extension LetterFilter {
  static let names = [
    "event", "streamer", "code", "text", "since_ms", "until_ms", "state", "all",
  ]
  /// In Unicode scalars, as JSON Schema counts them.
  static let maximumLength = 256

  /// The filter in a query. Without any condition it means all letters that were not dropped.
  init(_ request: APIRequest) throws(Problem) {
    self.init()
    event = try Self.bounded("event", request.argument("event"))
    streamer = try Self.bounded("streamer", request.argument("streamer"))
    code = try Self.bounded("code", request.argument("code"))
    text = try Self.bounded("text", request.argument("text"))
    let latest = Int(Timestamp.range.upperBound)
    since = try request.integer("since_ms", in: 0...latest).map { Int64($0) }
    until = try request.integer("until_ms", in: 0...latest).map { Int64($0) }
    state = try Self.state(request.argument("state"))
    switch try request.argument("all") {
    case nil, "false": break
    case "true": includesDropped = true
    default: throw Problem(.invalid, "all is true or false")
    }
  }

  /// The filter in a body, which must be selective.
  init(_ given: JSONValue) throws(Problem) {
    guard let object = given.object else {
      throw Problem(.invalid, "filter is an object, not \(given.kindName)")
    }
    for member in object.members where !Self.names.contains(member.name) {
      let known = Self.names.joined(separator: ", ")
      throw Problem(.invalid, "filter has an unknown member; those known here are: \(known)")
    }
    self.init()
    event = try Self.bounded("event", object.text("event"))
    streamer = try Self.bounded("streamer", object.text("streamer"))
    code = try Self.bounded("code", object.text("code"))
    text = try Self.bounded("text", object.text("text"))
    since = try Self.time("since_ms", in: object)
    until = try Self.time("until_ms", in: object)
    state = try Self.state(object.text("state"))
    includesDropped = try object.flag("all") ?? false
    guard isSelective else {
      throw Problem(
        .invalid,
        "filter needs event, streamer, code, text, since_ms or until_ms: nothing is done to all "
          + "letters")
    }
  }

  private static func bounded(_ name: String, _ text: String?) throws(Problem) -> String? {
    guard let text else { return nil }
    guard (1...maximumLength).contains(text.unicodeScalars.count) else {
      throw Problem(.invalid, "\(name) has 1 to \(maximumLength) characters")
    }
    return text
  }

  private static func time(_ name: String, in object: JSONObject) throws(Problem) -> Int64? {
    guard let value = object[name] else { return nil }
    guard let time = value.wholeNumber, Timestamp.range.contains(time) else {
      throw Problem(.invalid, "\(name) is a time in milliseconds since 1970")
    }
    return time
  }

  private static func state(_ text: String?) throws(Problem) -> LetterState? {
    guard let text else { return nil }
    guard let state = LetterState(rawValue: text) else {
      throw Problem(.invalid, "state is new, replayed or dropped")
    }
    return state
  }
}
