import Text

extension DurationText {
  /// A duration of the configuration: `500ms`, `10s`, `15m`, `48h`, `7d`, in whole milliseconds.
  package static func setting(_ text: String) throws(SettingComplaint) -> Duration {
    let duration: Duration
    do throws(Flaw) {
      duration = try parse(text)
    } catch {
      throw complaint(error, text)
    }
    guard duration.components.attoseconds % 1_000_000_000_000_000 == 0 else {
      throw SettingComplaint("must be whole milliseconds, is \(Shown.value(text))")
    }
    return duration
  }

  private static func complaint(_ flaw: Flaw, _ text: String) -> SettingComplaint {
    switch flaw {
    case .notANumber:
      SettingComplaint(
        "must be a duration, is \(Shown.value(text))",
        hint: "write it like 500ms, 10s, 15m, 48h or 7d")
    case .noUnit(let number):
      SettingComplaint(
        "has no unit: \(Shown.value(text))",
        hint: "write \(number)s for seconds, \(number)ms for milliseconds")
    case .unknownUnit:
      SettingComplaint(
        "has an unknown unit: \(Shown.value(text))", hint: "the units are ms, s, m, h and d")
    case .tooLarge: SettingComplaint("is too large: \(Shown.value(text))")
    }
  }
}

/// Sizes in bytes as configuration writes them.
package enum SizeText {
  private static let units: [(name: String, bytes: Int64)] = [
    ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
  ]

  package static func text(_ bytes: Int) -> String {
    for unit in units where bytes != 0 && Int64(bytes) % unit.bytes == 0 {
      return "\(Int64(bytes) / unit.bytes)\(unit.name)"
    }
    return "\(bytes)B"
  }

  /// `512B`, `64KiB`, `1MiB`, `2GiB`, or a plain number of bytes.
  package static func parse(_ text: String) throws(SettingComplaint) -> Int {
    let (number, unit) = UnitSplit.split(text)
    guard let number else {
      throw SettingComplaint(
        "must be a number of bytes, is \(Shown.value(text))",
        hint: "write it like 512B, 64KiB or 1MiB")
    }
    guard let known = units.first(where: { $0.name == unit || (unit.isEmpty && $0.name == "B") })
    else {
      throw SettingComplaint(
        "has an unknown unit: \(Shown.value(text))",
        hint: "the units are B, KiB (1,024 bytes), MiB and GiB")
    }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: known.bytes)
    guard !overflow, let bytes = Int(exactly: bytes) else {
      throw SettingComplaint("is too large: \(Shown.value(text))")
    }
    return bytes
  }
}

private enum UnitSplit {
  /// A number with its sign, and what follows it; nil when there is no number or it is over 64
  /// bits.
  static func split(_ text: String) -> (number: Int64?, unit: String) {
    let unitStart = text.firstIndex { !($0.isASCII && ($0.isNumber || $0 == "-")) } ?? text.endIndex
    return (Int64(text[..<unitStart]), String(text[unitStart...]))
  }
}
