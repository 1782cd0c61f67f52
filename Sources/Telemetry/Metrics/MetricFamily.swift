import Text

/// A metric's name and meaning: one family of Prometheus' text.
package struct MetricFamily: Sendable, Equatable {
  package enum Kind: String, Sendable {
    /// Only grows; its name ends with `_total`.
    case counter
    case gauge
    case histogram
  }

  /// In base units: `_seconds`, `_bytes`.
  package let name: String
  package let kind: Kind
  /// One line.
  package let help: String
  /// Names of its labels, in the order of their values. No label holds an id: each of its values is
  /// a series that is kept for ever.
  package let labels: [String]

  package init(_ name: String, _ kind: Kind, _ help: String, labels: [String] = []) {
    precondition(name.utf8.allSatisfy(Self.isNameByte), "\(name) is no name of a metric")
    precondition((kind == .counter) == name.hasSuffix("_total"), "\(name) must end as its kind")
    precondition(!help.contains("\n"), "the help of \(name) must be one line")
    self.name = name
    self.kind = kind
    self.help = help
    self.labels = labels
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "_") || byte.isASCIILower || byte.isASCIIDigit
  }
}
