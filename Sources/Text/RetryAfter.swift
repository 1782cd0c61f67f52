/// The header field `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date.
package enum RetryAfter {
  /// HTTP/2 field names are in lower case.
  package static let fieldName = Array("retry-after".utf8)
  /// No event's news keeps longer, and a proxy's mistake must not hold a push for days.
  package static let longest: Duration = .seconds(15 * 60)

  /// nil for what is neither.
  /// - Parameter now: ms since 1970.
  package static func parse(_ value: UnsafeRawBufferPointer, now: Int64) -> Duration? {
    let bytes = Array(value.prefix(64))
    if !bytes.isEmpty, bytes.allSatisfy(\.isASCIIDigit) {
      // No number is too long (section 10.2.3), and one that is longer than this is larger.
      return number(bytes[...]).map { min(.seconds($0), longest) } ?? longest
    }
    guard let date = date(bytes) else { return nil }
    return min(max(.milliseconds(date - now), .zero), longest)
  }

  /// Ms since 1970 of an IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`. The obsolete forms are not
  /// read: no server made in this century sends them.
  private static func date(_ bytes: [UInt8]) -> Int64? {
    guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), bytes[25...].elementsEqual(" GMT".utf8),
      bytes[19] == UInt8(ascii: ":"), bytes[22] == UInt8(ascii: ":"),
      let day = number(bytes[5..<7]), let year = number(bytes[12..<16]),
      let hour = number(bytes[17..<19]), let minute = number(bytes[20..<22]),
      let second = number(bytes[23..<25]),
      let month = CivilTime.months.firstIndex(where: { bytes[8..<11].elementsEqual($0.utf8) }),
      (1...31).contains(day), hour < 24, minute < 60, second <= 60
    else { return nil }
    let days = Timestamp.daysSince1970(year: year, month: Int64(month) + 1, day: day)
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    guard !digits.isEmpty, digits.count <= 9 else { return nil }
    var value: Int64 = 0
    for digit in digits {
      guard digit.isASCIIDigit else { return nil }
      value = value * 10 + Int64(digit - UInt8(ascii: "0"))
    }
    return value
  }
}
