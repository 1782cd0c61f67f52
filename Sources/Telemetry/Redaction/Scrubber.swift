import Text

/// The safety net under every log line: what looks like a token or a secret is replaced, whoever
/// put it there. Not the first defence: a token is logged as `TokenLabel`, a secret not at all.
///
/// - 64 hex digits or more become the label of that token;
/// - `bearer` and what follows, JSON Web Tokens (`eyJ…`), PEM blocks, and the password of a URL
///   become `[redacted]`.
package struct Scrubber: Sendable {
  static let mark = "[redacted]"
  /// The shortest run of hex digits that is taken for a token: Apple's of today have 64.
  static let shortestToken = 64
  /// The shortest run after `eyJ` (`{"` in base64url) that is taken for a JSON Web Token or a part
  /// of one.
  static let shortestWebToken = 16

  private let key: TokenLabelKey

  package init(key: TokenLabelKey) { self.key = key }

  func scrub(_ text: String) -> String {
    var text = text
    return text.withUTF8 {
      String(decoding: scrub(UnsafeRawBufferPointer($0), limit: .max), as: UTF8.self)
    }
  }

  /// Reads at most about `limit` bytes. Cutting never leaves the beginning of a secret behind: the
  /// word that the cut falls into goes whole.
  func scrub(_ bytes: UnsafeRawBufferPointer, limit: Int) -> [UInt8] {
    guard bytes.count > limit else { return scrub(bytes) }
    var end = limit
    while end > 0, !Self.isSpace(bytes[end - 1]) { end -= 1 }
    return scrub(UnsafeRawBufferPointer(rebasing: bytes[..<end])) + Array("…".utf8)
  }

  private func scrub(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var position = 0
    var digitsEnd = 0
    while position < bytes.count {
      if let end = Self.secretEnd(in: bytes, at: position) {
        result += Self.mark.utf8
        position = end
        continue
      }
      if position >= digitsEnd, bytes[position].isASCIIHexDigit {
        digitsEnd = Self.end(of: \.isASCIIHexDigit, in: bytes, from: position)
        if digitsEnd - position >= Self.shortestToken {
          let token = UnsafeRawBufferPointer(rebasing: bytes[position..<digitsEnd])
          result += TokenLabel(token, key: key).description.utf8
          position = digitsEnd
          continue
        }
      }
      result.append(bytes[position])
      position += 1
    }
    return result
  }

  /// False for every text that `scrub` would change, and for some others. One pass looks for what
  /// no secret is without: `@`, `eyJ`, `bearer`, five hyphens, 64 hex digits in a row; the words at
  /// their rarest letter.
  static func isHarmless(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var digits = 0
    var hyphens = 0
    for (position, byte) in bytes.enumerated() {
      digits = byte.isASCIIHexDigit ? digits + 1 : 0
      hyphens = byte == UInt8(ascii: "-") ? hyphens + 1 : 0
      if digits >= shortestToken || hyphens >= 5 { return false }
      switch byte {
      case UInt8(ascii: "@"): return false
      case UInt8(ascii: "J"):
        if position >= 2, begins("eyJ", in: bytes, at: position - 2) { return false }
      case UInt8(ascii: "r"), UInt8(ascii: "R"):
        if position >= 5, begins("bearer", in: bytes, at: position - 5, ignoringCase: true) {
          return false
        }
      default: break
      }
    }
    return true
  }

  /// Where a secret that begins at `position` ends; nil when none does.
  private static func secretEnd(in bytes: UnsafeRawBufferPointer, at position: Int) -> Int? {
    switch bytes[position] {
    case UInt8(ascii: "b"), UInt8(ascii: "B"): bearerEnd(in: bytes, at: position)
    case UInt8(ascii: "e"): webTokenEnd(in: bytes, at: position)
    case UInt8(ascii: "-"): blockEnd(in: bytes, at: position)
    default: passwordEnd(in: bytes, at: position)
    }
  }

  private static func bearerEnd(in bytes: UnsafeRawBufferPointer, at position: Int) -> Int? {
    var word = position
    var found: Int?
    // Again where what was taken ends in `bearer` itself: the secret is then what follows.
    while begins("bearer", in: bytes, at: word, ignoringCase: true) {
      let gap = word + 6
      let start = end(of: { isSpace($0) || ":=\"'".utf8.contains($0) }, in: bytes, from: gap)
      let stop = end(of: { !isSpace($0) && $0 != UInt8(ascii: "\"") }, in: bytes, from: start)
      guard start > gap, stop > start else { break }
      found = stop
      word = stop - 6
    }
    return found
  }

  private static func webTokenEnd(in bytes: UnsafeRawBufferPointer, at position: Int) -> Int? {
    guard begins("eyJ", in: bytes, at: position) else { return nil }
    let stop = end(
      of: { $0.isASCIIWord || "-_.=+/".utf8.contains($0) }, in: bytes,
      from: position)
    return stop - position >= shortestWebToken ? stop : nil
  }

  /// From `-----BEGIN` to behind the END line, or to the end of the text.
  private static func blockEnd(in bytes: UnsafeRawBufferPointer, at position: Int) -> Int? {
    guard begins("-----BEGIN", in: bytes, at: position) else { return nil }
    var at = position + 10
    while at < bytes.count, !begins("-----END", in: bytes, at: at) { at += 1 }
    at += 8
    while at < bytes.count, !begins("-----", in: bytes, at: at) { at += 1 }
    return min(bytes.count, at + 5)
  }

  /// The password in `scheme://user:password@host`.
  private static func passwordEnd(in bytes: UnsafeRawBufferPointer, at position: Int) -> Int? {
    guard position > 0, bytes[position - 1] == UInt8(ascii: ":"),
      endsWithUser(bytes, before: position - 1)
    else { return nil }
    // The last @ of the authority ends it: a password may hold one.
    let stop = end(of: { !isSpace($0) && !"/\"".utf8.contains($0) }, in: bytes, from: position)
    guard let at = bytes[position..<stop].lastIndex(of: UInt8(ascii: "@")) else { return nil }
    return at > position ? at : nil
  }

  /// The longest user name that is looked for in a URL.
  private static let longestUser = 128

  private static func endsWithUser(_ bytes: UnsafeRawBufferPointer, before colon: Int) -> Bool {
    var start = colon
    while start > 0, colon - start < longestUser, !isSpace(bytes[start - 1]),
      !":/\"@".utf8.contains(bytes[start - 1])
    { start -= 1 }
    return start >= 3 && begins("://", in: bytes, at: start - 3)
  }

  private static func begins(
    _ word: StaticString, in bytes: UnsafeRawBufferPointer, at position: Int,
    ignoringCase: Bool = false
  ) -> Bool {
    guard position + word.utf8CodeUnitCount <= bytes.count else { return false }
    for index in 0..<word.utf8CodeUnitCount {
      let byte = bytes[position + index]
      guard (ignoringCase ? byte | 0x20 : byte) == word.utf8Start[index] else { return false }
    }
    return true
  }

  private static func end(
    of belongs: (UInt8) -> Bool, in bytes: UnsafeRawBufferPointer, from position: Int
  ) -> Int {
    var end = position
    while end < bytes.count, belongs(bytes[end]) { end += 1 }
    return end
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte <= 0x20 }
}
