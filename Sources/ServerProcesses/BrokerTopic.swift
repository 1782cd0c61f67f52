import Text

/// A topic that the embedded broker makes: `NAME:PARTITIONS`.
package struct BrokerTopic: Sendable, Equatable, CustomStringConvertible {
  package let name: String
  package let partitions: Int

  package init(name: String, partitions: Int) {
    self.name = name
    self.partitions = partitions
  }

  /// Nil unless the name follows Kafka's own rule and the partitions are 1…1,000.
  package init?(_ text: Substring) {
    let sides = text.split(separator: ":", omittingEmptySubsequences: false)
    guard sides.count == 2, let partitions = Int(sides[1]), (1...1_000).contains(partitions),
      Self.isName(sides[0])
    else { return nil }
    self.init(name: String(sides[0]), partitions: partitions)
  }

  package var description: String { "\(name):\(partitions)" }

  private static func isName(_ name: Substring) -> Bool {
    (1...249).contains(name.utf8.count) && name != "." && name != ".."
      && name.utf8.allSatisfy { $0.isASCIIWord || "-._".utf8.contains($0) }
  }
}
