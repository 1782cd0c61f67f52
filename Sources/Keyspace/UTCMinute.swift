/// A minute of UTC, for the names of keys. Civil date from days: H. Hinnant's `civil_from_days`;
/// valid for every Int64 of milliseconds, the years before 1970 included.
struct UTCMinute: Equatable {
  let year: Int
  let month: Int
  let day: Int
  let hour: Int
  let minute: Int

  init(milliseconds: Int64) {
    let minutes = Self.floorDivide(Int(milliseconds), 60_000)
    let days = Self.floorDivide(minutes, 1_440)
    let minuteOfDay = minutes - days * 1_440
    hour = minuteOfDay / 60
    minute = minuteOfDay % 60
    let shifted = days + 719_468
    let era = Self.floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  var dayDigits: String { Self.digits(year, 4) + Self.digits(month, 2) + Self.digits(day, 2) }
  var minuteDigits: String { Self.digits(hour, 2) + Self.digits(minute, 2) }

  private static func digits(_ value: Int, _ width: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
  }

  private static func floorDivide(_ value: Int, _ divisor: Int) -> Int {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
  }
}
