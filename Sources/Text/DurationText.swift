/// Lengths of time as configuration, options and log lines write them: `500ms`, `1m30s`, `7d`.
package enum DurationText {
  /// Why a text is no length of time.
  package enum Flaw: Error, Sendable, Equatable {
    case notANumber
    /// The number that wants a unit.
    case noUnit(String)
    case unknownUnit
    /// Over 292,000 years.
    case tooLarge
  }

  private static let units: [(name: String, microseconds: Int64)] = [
    ("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000),
    ("ms", 1_000), ("us", 1),
  ]

  /// In as many units as it takes. Microseconds are shown where there is nothing larger, and cut
  /// off elsewhere; `0s` for nothing.
  package static func text(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    // Nothing that anybody waits for.
    guard !overflow, whole.magnitude < 9_000_000_000_000_000_000 else { return "\(seconds)s" }
    var rest = whole + attoseconds / 1_000_000_000_000
    if rest.magnitude >= 1_000 { rest -= rest % 1_000 }
    var result = rest < 0 ? "-" : ""
    for unit in units where rest / unit.microseconds != 0 {
      result += "\((rest / unit.microseconds).magnitude)\(unit.name)"
      rest %= unit.microseconds
    }
    return result.isEmpty ? "0s" : result
  }

  /// Numbers, whole or with a point, each with its unit; a sign only before the first. Nothing, 0,
  /// needs no unit.
  package static func parse(_ text: String) throws(Flaw) -> Duration {
    if text == "0" { return .zero }
    let isNegative = text.hasPrefix("-")
    var rest = isNegative ? text.dropFirst() : text[...]
    guard !rest.isEmpty else { throw .notANumber }
    var total: Int64 = 0
    while !rest.isEmpty {
      let digits = rest.prefix(while: isOfNumber)
      let name = rest.dropFirst(digits.count).prefix { !isOfNumber($0) }
      rest = rest.dropFirst(digits.count + name.count)
      guard Double(digits) != nil else { throw .notANumber }
      guard !name.isEmpty else { throw .noUnit((isNegative ? "-" : "") + digits) }
      guard let unit = units.first(where: { $0.name == name }) else { throw .unknownUnit }
      let (sum, overflow) = total.addingReportingOverflow(
        try microseconds(digits, unit.microseconds))
      guard !overflow else { throw .tooLarge }
      total = sum
    }
    return .microseconds(isNegative ? -total : total)
  }

  private static func isOfNumber(_ character: Character) -> Bool {
    character.isASCII && character.isNumber || character == "."
  }

  /// Whole numbers are exact, however large; others are rounded to a microsecond.
  private static func microseconds(_ digits: Substring, _ unit: Int64) throws(Flaw) -> Int64 {
    if let whole = Int64(digits) {
      let (product, overflow) = whole.multipliedReportingOverflow(by: unit)
      guard !overflow else { throw .tooLarge }
      return product
    }
    let value = ((Double(digits) ?? .infinity) * Double(unit)).rounded()
    guard value < 9e18 else { throw .tooLarge }
    return Int64(value)
  }
}

extension Duration {
  /// The unit of clocks, configuration and the headers of records; finer parts are cut.
  package var wholeMilliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
