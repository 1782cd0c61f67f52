import Text

/// A part of every day by somebody's own clock, such as `22:00-07:00`: from the first minute up to
/// the last and without it. It may pass midnight; one that ends where it begins is never.
///
/// The clock on the wall decides, also in the nights when it is changed: an hour that it passes
/// twice is quiet twice, one that it leaves out is not there.
package struct QuietHours: Sendable, Equatable {
  /// Minutes since midnight.
  let start: Int
  let end: Int

  private static let bytes = 11

  /// Nil for anything but `HH:MM-HH:MM`, 00:00 to 23:59.
  package init?(_ text: UnsafeRawBufferPointer) {
    guard text.count == Self.bytes, text[5] == 0x2D, let start = Self.minute(text, at: 0),
      let end = Self.minute(text, at: 6)
    else { return nil }
    self.start = start
    self.end = end
  }

  package func contains(minute: Int) -> Bool {
    start <= end ? minute >= start && minute < end : minute >= start || minute < end
  }

  private static func minute(_ text: UnsafeRawBufferPointer, at index: Int) -> Int? {
    guard text[index + 2] == 0x3A, let hour = number(text, at: index), hour < 24,
      let minute = number(text, at: index + 3), minute < 60
    else { return nil }
    return hour * 60 + minute
  }

  private static func number(_ text: UnsafeRawBufferPointer, at index: Int) -> Int? {
    let (tens, ones) = (text[index], text[index + 1])
    guard tens.isASCIIDigit, ones.isASCIIDigit else { return nil }
    return Int(tens - 0x30) * 10 + Int(ones - 0x30)
  }
}
