import Text

extension Keyspace {
  /// Long enough for a UUID, a URN or an e-mail address; short enough that a key is never a burden.
  package static let maximumIdentifierBytes = 128

  /// Whether the text may be in a key as a user, streamer or worker id: 1…128 bytes, no control
  /// characters, no `{` or `}` (they would move the hash tag).
  package static func isIdentifier(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { isIdentifier(UnsafeRawBufferPointer($0)) }
  }

  /// As for a text; the bytes must be valid UTF-8 too. For ids that come from Redis.
  package static func isIdentifier(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count >= 1, bytes.count <= maximumIdentifierBytes else { return false }
    var isASCII = true
    for byte in bytes {
      if byte < 0x20 || byte == 0x7F || byte == 0x7B || byte == 0x7D { return false }
      if byte >= 0x80 { isASCII = false }
    }
    return isASCII || isPrintableUTF8(bytes)
  }

  /// An identifier that names a streamer. One that ends in `:<digits>:<digits>` is refused: its key
  /// would be the key of another streamer's follower shard.
  package static func isStreamerIdentifier(_ text: String) -> Bool {
    guard isIdentifier(text) else { return false }
    let parts = text.utf8.split(separator: 0x3A, omittingEmptySubsequences: false)
    guard parts.count >= 3 else { return true }
    return !parts.suffix(2).allSatisfy { part in
      !part.isEmpty && part.allSatisfy(\.isASCIIDigit)
    }
  }

  /// A tag's name stands in keys where a streamer's id does, and is held to the same. ASCII: two
  /// ways to write one letter would be two tags that look alike.
  package static func isTag(_ text: String) -> Bool {
    isStreamerIdentifier(text) && text.utf8.allSatisfy { $0 < 0x80 }
  }

  /// What a message says of a name that is no tag.
  package static let tagRule =
    "1 to \(maximumIdentifierBytes) printable ASCII characters without braces, not ending in "
    + ":<digits>:<digits>"

  private static func isPrintableUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let text = String(validating: bytes, as: UTF8.self) else { return false }
    return text.unicodeScalars.allSatisfy { $0.value < 0x80 || $0.value > 0x9F }
  }
}
