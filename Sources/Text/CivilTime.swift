/// A moment as year, month, day and time of UTC, by Howard Hinnant's `civil_from_days`; exact for
/// every moment that 64 bits of milliseconds name, the years before 1970 included.
package struct CivilTime: Sendable, Equatable {
  package let year: Int
  package let month: Int
  package let day: Int
  package let millisecondOfDay: Int

  package var hour: Int { millisecondOfDay / 3_600_000 }
  package var minute: Int { millisecondOfDay / 60_000 % 60 }
  package var second: Int { millisecondOfDay / 1_000 % 60 }
  package var millisecond: Int { millisecondOfDay % 1_000 }

  /// As dates of HTTP have them (RFC 9110, section 5.6.7).
  package static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

  /// As HTTP writes a date (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
  /// - Parameter milliseconds: since 1970.
  package static func httpDate(_ milliseconds: Int64) -> String {
    let time = CivilTime(milliseconds: milliseconds)
    // The first day of 1970 was a Thursday.
    let weekday = weekdays[Int(milliseconds / 86_400_000 % 7 + 11) % 7]
    return "\(weekday), \(twoDigits(time.day)) \(months[time.month - 1]) \(time.year) "
      + "\(twoDigits(time.hour)):\(twoDigits(time.minute)):\(twoDigits(time.second)) GMT"
  }

  /// As in `2026-11-21`.
  package var dateText: String { "\(year)-\(Self.twoDigits(month))-\(Self.twoDigits(day))" }

  package static func twoDigits(_ number: Int) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }

  /// - Parameter milliseconds: since 1970.
  package init(milliseconds: Int64) {
    let sinceMidnight = Int(milliseconds % 86_400_000)
    let millisecondOfDay = sinceMidnight < 0 ? sinceMidnight + 86_400_000 : sinceMidnight
    let daysSince1970 = Int(milliseconds / 86_400_000) - (sinceMidnight < 0 ? 1 : 0)
    // Days since 0000-03-01: years then end with their leap day.
    let days = daysSince1970 + 719_468
    let era = (days >= 0 ? days : days - 146_096) / 146_097
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    self.millisecondOfDay = millisecondOfDay
    day = dayOfYear - (153 * shifted + 2) / 5 + 1
    month = shifted < 10 ? shifted + 3 : shifted - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }
}
