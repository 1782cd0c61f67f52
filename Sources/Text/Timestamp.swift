/// RFC 3339 date-times, strictly: `2026-11-21T08:00:00Z`, with a fraction of up to nine digits and
/// any offset; years 1970 to 9999, days that exist, no leap seconds.
package enum Timestamp {
  /// In ms since 1970. A number from outside that is not within it is no time.
  package static let range: ClosedRange<Int64> = 0...253_402_300_799_999

  /// Milliseconds since 1970; nil for anything else than a date-time after 1970.
  package static func milliseconds(_ text: String) -> Int64? {
    var rest = Array(text.utf8)[...]
    guard let year = number(&rest, 4), take(&rest, "-"), let month = number(&rest, 2),
      take(&rest, "-"), let day = number(&rest, 2), take(&rest, "T") || take(&rest, "t"),
      let hour = number(&rest, 2), take(&rest, ":"), let minute = number(&rest, 2),
      take(&rest, ":"), let second = number(&rest, 2),
      year >= 1970, (1...12).contains(month), day >= 1, day <= days(in: month, of: year),
      hour < 24, minute < 60, second < 60, let fraction = fraction(&rest),
      let offset = offset(&rest), rest.isEmpty
    else { return nil }
    let days = daysSince1970(year: year, month: month, day: day)
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset * 60
    return seconds < 0 ? nil : seconds * 1000 + fraction
  }

  private static func number(_ rest: inout ArraySlice<UInt8>, _ digits: Int) -> Int64? {
    guard rest.count >= digits else { return nil }
    var value: Int64 = 0
    for byte in rest.prefix(digits) {
      guard byte.isASCIIDigit else { return nil }
      value = value * 10 + Int64(byte - 0x30)
    }
    rest = rest.dropFirst(digits)
    return value
  }

  private static func take(_ rest: inout ArraySlice<UInt8>, _ character: Unicode.Scalar) -> Bool {
    guard let first = rest.first, UInt32(first) == character.value else { return false }
    rest = rest.dropFirst()
    return true
  }

  /// Milliseconds; finer digits are cut.
  private static func fraction(_ rest: inout ArraySlice<UInt8>) -> Int64? {
    guard take(&rest, ".") else { return 0 }
    let digits = rest.prefix(while: \.isASCIIDigit)
    guard (1...9).contains(digits.count) else { return nil }
    rest = rest.dropFirst(digits.count)
    var milliseconds: Int64 = 0
    for position in 0..<3 {
      let index = digits.startIndex + position
      milliseconds = milliseconds * 10 + (index < digits.endIndex ? Int64(digits[index] - 0x30) : 0)
    }
    return milliseconds
  }

  /// Minutes east of UTC.
  private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int64? {
    if take(&rest, "Z") || take(&rest, "z") { return 0 }
    let isWest = take(&rest, "-")
    guard isWest || take(&rest, "+"), let hours = number(&rest, 2), take(&rest, ":"),
      let minutes = number(&rest, 2), hours < 24, minutes < 60
    else { return nil }
    return (hours * 60 + minutes) * (isWest ? -1 : 1)
  }

  private static func days(in month: Int64, of year: Int64) -> Int64 {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func isLeap(_ year: Int64) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  /// Of a day of the Gregorian calendar, `month` and `day` from 1 on.
  package static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
    let before = year - 1
    let leaps = before / 4 - before / 100 + before / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400)
    let earlierMonths = (1..<month).reduce(0) { $0 + days(in: $1, of: year) }
    return (year - 1970) * 365 + leaps + earlierMonths + day - 1
  }
}
