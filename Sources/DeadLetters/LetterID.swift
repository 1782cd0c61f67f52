/// The identity of a dead letter: where it stands in the topic. Written `<partition>:<offset>`.
package struct LetterID: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let partition: Int32
  package let offset: Int64

  package init(partition: Int32, offset: Int64) {
    self.partition = partition
    self.offset = offset
  }

  /// Nil for what is not two decimal numbers from 0 with a colon between them.
  package init?(_ text: String) {
    let parts = text.utf8.split(separator: 0x3A, omittingEmptySubsequences: false)
    guard parts.count == 2,
      parts.allSatisfy({ part in part.allSatisfy { (0x30...0x39).contains($0) } }),
      let partition = Int32(String(Substring(parts[0]))),
      // The next offset is a number, too.
      let offset = Int64(String(Substring(parts[1]))), offset < .max
    else { return nil }
    self.init(partition: partition, offset: offset)
  }

  package var description: String { "\(partition):\(offset)" }

  package static func < (left: LetterID, right: LetterID) -> Bool {
    (left.partition, left.offset) < (right.partition, right.offset)
  }
}
