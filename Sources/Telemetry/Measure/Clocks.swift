import Glibc
import Text

/// The time of day. May jump; for what people and other machines read.
package enum WallClock {
  /// The years 0 and 9999: four digits.
  private static let earliest: Int64 = -62_167_219_200_000
  private static let latest = Timestamp.range.upperBound

  /// Milliseconds since 1970 (CLOCK_REALTIME).
  package static func nowMilliseconds() -> Int64 { nowMicroseconds() / 1_000 }

  /// Microseconds since 1970 (CLOCK_REALTIME).
  package static func nowMicroseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
  }

  /// RFC 3339 in UTC with milliseconds: `2026-11-21T08:00:00.123Z`. Years outside 0…9999 are held
  /// at the ends.
  package static func rfc3339(_ milliseconds: Int64) -> String {
    let moment = CivilTime(milliseconds: min(max(milliseconds, earliest), latest))
    return String(unsafeUninitializedCapacity: CivilTime.rfc3339Length) {
      moment.writeRFC3339(to: $0)
    }
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

extension CivilTime {
  fileprivate static let rfc3339Length = 24

  fileprivate func writeRFC3339(to target: UnsafeMutableBufferPointer<UInt8>) -> Int {
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
    put(hour, digits: 2, then: ":")
    put(minute, digits: 2, then: ":")
    put(second, digits: 2, then: ".")
    put(millisecond, digits: 3, then: "Z")
    return position
  }
}
