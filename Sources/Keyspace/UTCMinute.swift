import Text

/// A minute of UTC as the names of keys spell it.
struct UTCMinute: Equatable {
  private let time: CivilTime

  init(milliseconds: Int64) { time = CivilTime(milliseconds: milliseconds) }

  var dayDigits: String {
    Self.digits(time.year, 4) + Self.digits(time.month, 2) + Self.digits(time.day, 2)
  }

  var minuteDigits: String { Self.digits(time.hour, 2) + Self.digits(time.minute, 2) }

  private static func digits(_ value: Int, _ width: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
  }
}
