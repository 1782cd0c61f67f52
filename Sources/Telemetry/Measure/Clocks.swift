import Glibc

/// The time of day. May jump; for what people and other machines read.
package enum WallClock {
  /// Milliseconds since 1970 (CLOCK_REALTIME).
  package static func nowMilliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// RFC 3339 in UTC with milliseconds: `2026-11-21T08:00:00.123Z`. Years outside 0…9999 are held
  /// at the ends.
  package static func rfc3339(_ milliseconds: Int64) -> String {
    let moment = CivilTime(milliseconds: milliseconds)
    return String(unsafeUninitializedCapacity: CivilTime.length) { moment.write(to: $0) }
  }
}

/// Time that only goes on: for durations.
package enum MonotonicClock {
  /// CLOCK_MONOTONIC, the clock of the event loops.
  package static func nowNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_MONOTONIC) ?? 0 }

  static func nanoseconds(of clock: clockid_t) -> UInt64? {
    var time = timespec()
    guard clock_gettime(clock, &time) == 0 else { return nil }
    return UInt64(max(0, time.tv_sec)) &* 1_000_000_000 &+ UInt64(max(0, time.tv_nsec))
  }
}

/// A moment as year, month, day and time in UTC, by Howard Hinnant's `civil_from_days`.
struct CivilTime {
  static let length = 24
  private let year, month, day, millisecondOfDay: Int

  private static let earliest: Int64 = -62_167_219_200_000
  private static let latest: Int64 = 253_402_300_799_999

  init(milliseconds: Int64) {
    let milliseconds = Int(min(max(milliseconds, Self.earliest), Self.latest))
    let millisecondOfDay = (milliseconds % 86_400_000 + 86_400_000) % 86_400_000
    // Days since 0000-03-01: years then end with their leap day.
    let days = (milliseconds - millisecondOfDay) / 86_400_000 + 719_468
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

  func write(to target: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var position = 0
    func put(_ value: Int, digits: Int, then separator: Unicode.Scalar) {
      var rest = value
      for index in stride(from: position + digits - 1, through: position, by: -1) {
        target[index] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      }
      target[position + digits] = UInt8(ascii: separator)
      position += digits + 1
    }
    put(year, digits: 4, then: "-")
    put(month, digits: 2, then: "-")
    put(day, digits: 2, then: "T")
    put(millisecondOfDay / 3_600_000, digits: 2, then: ":")
    put(millisecondOfDay / 60_000 % 60, digits: 2, then: ":")
    put(millisecondOfDay / 1_000 % 60, digits: 2, then: ".")
    put(millisecondOfDay % 1_000, digits: 3, then: "Z")
    return position
  }
}
