/// A template file as its YAML says it, not yet checked: `Template.compile` finds everything that
/// is wrong with it at once, unknown keys included, and names the place of each. The parser only
/// carries the file over, node by node.
package struct TemplateSource: Sendable, Equatable {
  /// Line and column in the file, both from 1.
  package struct Place: Sendable, Equatable, Comparable {
    package let line: Int
    package let column: Int

    package init(line: Int, column: Int) {
      self.line = line
      self.column = column
    }

    package static func < (left: Place, right: Place) -> Bool {
      (left.line, left.column) < (right.line, right.column)
    }
  }

  /// A scalar is what YAML's core schema makes of it: `10` an integer, `"10"` a string.
  package enum Value: Sendable, Equatable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case list([Node])
    /// In the order of the file. Keys are texts whatever they look like (`no` is Norwegian, not
    /// false).
    case map([Entry])
  }

  package struct Node: Sendable, Equatable {
    package let value: Value
    package let place: Place

    package init(_ value: Value, _ place: Place) {
      self.value = value
      self.place = place
    }
  }

  package struct Entry: Sendable, Equatable {
    package let key: String
    package let place: Place
    package let value: Node

    package init(key: String, place: Place, value: Node) {
      self.key = key
      self.place = place
      self.value = value
    }
  }

  /// The template's name in events: the file's name without its ending, 1…64 bytes of `[a-z0-9-]`.
  package let name: String
  /// The file, as messages should show it.
  package let file: String
  package let root: Node

  package init(name: String, file: String, root: Node) {
    self.name = name
    self.file = file
    self.root = root
  }
}
