import Glibc

/// Which form lines have; `LogLineWriter` writes them.
package enum LogFormat: Sendable, Equatable {
  /// One object per line, for machines.
  case json
  /// For people: time of day, level, message, fields.
  case text(coloured: Bool)

  /// Text where a person reads along, JSON elsewhere; colours unless `NO_COLOR` or `TERM=dumb`
  /// says no.
  package static func automatic(descriptor: Int32 = STDERR_FILENO) -> LogFormat {
    automatic(isTerminal: isatty(descriptor) == 1) { getenv($0).map { String(cString: $0) } }
  }

  static func automatic(isTerminal: Bool, environment: (String) -> String?) -> LogFormat {
    guard isTerminal else { return .json }
    let refusesColour = !(environment("NO_COLOR") ?? "").isEmpty
    let isDumb = (environment("TERM") ?? "dumb") == "dumb"
    return .text(coloured: !refusesColour && !isDumb)
  }

  /// The setting `auto`, `text` or `json`; nil for anything else.
  package static func named(_ name: String, descriptor: Int32 = STDERR_FILENO) -> LogFormat? {
    switch name {
    case "auto": automatic(descriptor: descriptor)
    case "json": .json
    case "text":
      automatic(descriptor: descriptor) == .text(coloured: true)
        ? .text(coloured: true) : .text(coloured: false)
    default: nil
    }
  }
}
