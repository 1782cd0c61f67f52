import Text

/// A device token of the usual size as a dictionary's key: 32 bytes, nothing allocated.
package struct TokenKey: Sendable, Hashable {
  private let words: InlineWords

  private struct InlineWords: Sendable, Hashable {
    var first: UInt64 = 0
    var second: UInt64 = 0
    var third: UInt64 = 0
    var fourth: UInt64 = 0
  }

  /// Nil unless `digits` are 64 hex digits, either case.
  package init?(_ digits: some StringProtocol) {
    var words: [UInt64] = [0, 0, 0, 0]
    var count = 0
    for byte in digits.utf8 {
      guard let digit = byte.hexValue, count < 64 else { return nil }
      words[count / 16] = words[count / 16] << 4 | UInt64(digit)
      count += 1
    }
    guard count == 64 else { return nil }
    self.words = InlineWords(
      first: words[0], second: words[1], third: words[2], fourth: words[3])
  }
}
