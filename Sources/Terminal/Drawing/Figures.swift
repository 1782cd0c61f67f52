/// Numbers as people read them.
package enum Figures {
  /// `1234567` → `1,234,567`
  package static func grouped(_ value: Int) -> String {
    let digits = String(value.magnitude)
    var result = value < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { result.append(",") }
      result.append(digit)
    }
    return result
  }

  /// Rounded half away from zero to 0…9 digits after the point, without exponent below 10^15; `-`
  /// for what is no number.
  package static func fixed(_ value: Double, digits: Int = 1) -> String {
    guard value.isFinite else { return "-" }
    let digits = min(max(digits, 0), 9)
    let scale = powersOfTen[digits]
    guard value.magnitude < 1e15 / Double(scale) else { return value.description }
    let scaled = Int((value * Double(scale)).rounded())
    let sign = scaled < 0 ? "-" : ""
    let magnitude = Int(scaled.magnitude)
    guard digits > 0 else { return sign + String(magnitude) }
    let fraction = String(magnitude % scale)
    let zeros = String(repeating: "0", count: digits - fraction.count)
    return "\(sign)\(magnitude / scale).\(zeros)\(fraction)"
  }

  private static let powersOfTen = (0...9).map { (0..<$0).reduce(1) { product, _ in product * 10 } }

  /// `9 s`, `14 min`, `3 h`, `2 d`: rounded down.
  package static func age(milliseconds: Int64) -> String {
    let seconds = max(0, milliseconds) / 1000
    return switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7200: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3600) h"
    default: "\(seconds / 86_400) d"
    }
  }

  /// `95 s` → `1:35`, `3,700 s` → `1:01:40`
  package static func clock(seconds: Int) -> String {
    let seconds = max(0, seconds)
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60)
    return hours > 0
      ? "\(hours):\(two(minutes)):\(two(seconds % 60))" : "\(minutes):\(two(seconds % 60))"
  }

  /// The unit in which a time is read best: `850 ns`, `4.2 µs`, `12.5 ms`, `3.1 s`.
  package static func time(nanoseconds: Double) -> String {
    switch nanoseconds.magnitude {
    case ..<1e3: fixed(nanoseconds, digits: 0) + " ns"
    case ..<1e6: fixed(nanoseconds / 1e3) + " µs"
    case ..<1e9: fixed(nanoseconds / 1e6) + " ms"
    default: fixed(nanoseconds / 1e9) + " s"
    }
  }

  /// `1536` → `1.5 KiB`
  package static func bytes(_ count: Int) -> String {
    var value = Double(count)
    for unit in ["B", "KiB", "MiB", "GiB"] {
      if value.magnitude < 1024 { return fixed(value, digits: unit == "B" ? 0 : 1) + " " + unit }
      value /= 1024
    }
    return fixed(value) + " TiB"
  }
}
