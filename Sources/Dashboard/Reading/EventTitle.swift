import JSON

/// The title of a stream as its event has it, short enough for a list of a thousand.
enum EventTitle {
  /// Of a title; a longer one is cut.
  static let maximumScalars = 100

  /// Nil for what is no event, and where an event has no title.
  static func read(_ document: [UInt8]) -> String? {
    (try? JSONValue.parseWithAnyIntegers(document)).flatMap { read($0) }
  }

  static func read(_ document: JSONValue) -> String? {
    guard let title = document.object?["stream"]?.object?["title"]?.string, !title.isEmpty else {
      return nil
    }
    let scalars = title.unicodeScalars
    guard scalars.count > maximumScalars else { return title }
    return String(scalars.prefix(maximumScalars - 1)) + "…"
  }
}
