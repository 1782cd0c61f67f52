import Kafka
import Text

/// A letter's bytes for a person: text where they are UTF-8, else hexadecimal digits.
package struct LetterBody: Sendable, Equatable {
  package let text: String
  package let isText: Bool
  /// Only its beginning.
  package let isCut: Bool

  /// Bytes that are shown.
  package static let maximumBytes = 128 << 10

  package init(_ bytes: [UInt8], atMost limit: Int = maximumBytes) {
    let whole = String(validating: bytes, as: UTF8.self)
    isText = whole != nil
    guard let whole else {
      // Two digits a byte.
      isCut = bytes.count > limit / 2
      text = Hexadecimal.text(bytes.prefix(limit / 2))
      return
    }
    isCut = bytes.count > limit
    // A character that the cut splits is repaired to U+FFFD at the end.
    text = isCut ? String(decoding: bytes.prefix(limit), as: UTF8.self) : whole
  }
}

extension KafkaMessage {
  /// Records of stragglers name the devices that wait; so may those of a topic that nobody knows
  /// any more.
  /// - Parameter topics: those whose records name none.
  package func mayHoldTokens(except topics: [String]) -> Bool {
    let own = LetterSummary(self).topic
    return !topics.contains { own.isExactly($0) }
  }
}
