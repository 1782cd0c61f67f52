import DeadLetters
import Terminal
import Text

/// Filters of dead letters as flags.
enum DLQFlags {
  private static let event = Option<String?>(
    "event", .text, value: "ID", help: "Only letters of this event")
  private static let streamer = Option<String?>(
    "streamer", .text, value: "ID", help: "Only letters of this streamer")
  private static let code = Option<String?>(
    "code", .text, value: "CODE", help: "Only letters with this error code, such as wrong_type")
  private static let text = Option<String?>(
    "text", .text, help: "Only letters whose reason or headers contain this text")
  private static let since = Option<String?>(
    "since", .text, value: "WHEN", help: "Only letters written at or after this time")
  private static let until = Option<String?>(
    "until", .text, value: "WHEN", help: "Only letters written before this time")
  private static let state = Option<String?>(
    "state", .text, value: "STATE", help: "Only letters that are new, replayed or dropped")
  private static let all = Option(flag: "all", help: "Dropped letters too")
  static let scan = Option(
    "scan", .integer(in: 1...100_000), default: 10_000, value: "N",
    help: "How many letters to look at, the newest first")

  static let filters: [any DeclaredOption] = [
    event, streamer, code, text, since, until, state, all,
  ]

  static let help = """
    WHEN is a duration before now (2h, 3d), a time such as 2026-11-21T08:00:00Z, or milliseconds \
    since 1970. A letter must meet all conditions.
    """

  static func firstGiven(_ invocation: Invocation) -> String? {
    (filters + [scan]).first { invocation.isGiven($0) }?.declaration.name
  }

  static func filter(_ invocation: Invocation) throws(CommandFailure) -> LetterFilter {
    var filter = LetterFilter()
    filter.event = invocation[event]
    filter.streamer = invocation[streamer]
    filter.code = invocation[code]
    filter.text = invocation[text]
    filter.since = try time(since, invocation)
    filter.until = try time(until, invocation)
    if let name = invocation[state] {
      guard let known = LetterState(rawValue: name) else {
        throw CommandFailure(.usage, "--state must be new, replayed or dropped")
      }
      filter.state = known
    }
    filter.includesDropped = invocation[all]
    return filter
  }

  private static func time(
    _ option: Option<String?>, _ invocation: Invocation
  ) throws(CommandFailure) -> Int64? {
    guard let text = invocation[option] else { return nil }
    if let time = Int64(text), Timestamp.range.contains(time) { return time }
    if let time = Timestamp.milliseconds(text) { return time }
    if let length = try? DurationText.parse(text), length >= .zero {
      return invocation.nowMilliseconds - length.wholeMilliseconds
    }
    throw CommandFailure(
      .usage,
      "--\(option.declaration.name) must be like 2h, 2026-11-21T08:00:00Z, or milliseconds since "
        + "1970")
  }
}
