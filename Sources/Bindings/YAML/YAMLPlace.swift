/// A place in a YAML text, both numbers 1-based; the column counts characters (Unicode scalars).
package struct YAMLPlace: Sendable, Equatable, CustomStringConvertible {
  package let line: Int
  package let column: Int

  package init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }

  /// `line:column`, as compilers write it behind a file's name.
  package var description: String { "\(line):\(column)" }
}
