import Text

/// A time zone that is only an offset, as devices name one: `GMT+0900` (iOS), `GMT+09:00`
/// (Android), `UTC+3`, `+05:30`, `Z`. Plus is east of Greenwich. In the database's `Etc/GMT-9` plus
/// is west, as in POSIX, and so it is here where the system has no file of that name.
///
/// Three digits are none: JavaScript's `getTimezoneOffset()` is -330 in India, in minutes.
enum ZoneOffset {
  /// No clock on Earth shows more, or less.
  private static let range = -12 * 3600...14 * 3600

  /// Seconds east of Greenwich; nil for anything else. Allocates nothing.
  static func seconds(_ text: UnsafeRawBufferPointer) -> Int? {
    if text.count == 1 { return text[0].asciiLowered == UInt8(ascii: "z") ? 0 : nil }
    let isOfDatabase = begins(text, at: 0, with: "etc/")
    var index = isOfDatabase ? 4 : 0
    let start = index
    if begins(text, at: index, with: "utc") || begins(text, at: index, with: "gmt") {
      index += 3
    } else if begins(text, at: index, with: "ut") {
      index += 2
    }
    let hasName = index > start
    if index == text.count { return hasName ? 0 : nil }
    // The database has whole hours, and of GMT alone.
    if isOfDatabase, !hasName || !begins(text, at: start, with: "gmt") || text.count > index + 3 {
      return nil
    }
    let sign = text[index]
    guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
      let size = size(UnsafeRawBufferPointer(rebasing: text[(index + 1)...]))
    else { return nil }
    let isEast = (sign == UInt8(ascii: "+")) != isOfDatabase
    let seconds = isEast ? size : -size
    return range.contains(seconds) ? seconds : nil
  }

  /// The offset that was meant where the number is JavaScript's minutes, which count to the west:
  /// `UTC+05:30` of `-330`. Nil for other texts.
  static func meant(byMinutes text: String) -> String? {
    let number =
      ["utc", "gmt"].contains(text.prefix(3).lowercased()) ? text.dropFirst(3) : text[...]
    guard (3...4).contains(number.utf8.count), number.hasPrefix("-") || number.hasPrefix("+"),
      number.utf8.dropFirst().allSatisfy(\.isASCIIDigit), number.dropFirst().first != "0",
      let west = Int(number),
      range.contains(-west * 60)
    else { return nil }
    let (hours, minutes) = abs(west).quotientAndRemainder(dividingBy: 60)
    return "UTC\(west > 0 ? "-" : "+")\(CivilTime.twoDigits(hours)):"
      + CivilTime.twoDigits(minutes)
  }

  /// `9`, `09`, `0900`, `9:00`, `09:00`.
  private static func size(_ text: UnsafeRawBufferPointer) -> Int? {
    let colon = text.firstIndex(of: UInt8(ascii: ":"))
    let digits = text.count - (colon == nil ? 0 : 1)
    if colon == nil, digits == 3 { return nil }
    let hourDigits = colon ?? min(digits, 2)
    let hasMinutes = colon != nil || digits > 2
    guard (1...2).contains(hourDigits), digits - hourDigits == (hasMinutes ? 2 : 0) else {
      return nil
    }
    var (hours, minutes) = (0, 0)
    for (index, byte) in text.enumerated() where index != colon {
      guard byte.isASCIIDigit else { return nil }
      let digit = Int(byte - 0x30)
      if index < hourDigits { hours = hours * 10 + digit } else { minutes = minutes * 10 + digit }
    }
    return minutes < 60 ? hours * 3600 + minutes * 60 : nil
  }

  private static func begins(
    _ text: UnsafeRawBufferPointer, at start: Int, with word: StaticString
  ) -> Bool {
    word.withUTF8Buffer { word in
      guard text.count >= start + word.count else { return false }
      for index in word.indices where text[start + index].asciiLowered != word[index] {
        return false
      }
      return true
    }
  }
}
