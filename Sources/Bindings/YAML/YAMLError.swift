/// Why a text is not the YAML document that it should be, and where.
package struct YAMLError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable, Equatable, CaseIterable {
    case tooLarge = "too-large"
    case tooDeep = "too-deep"
    /// Bytes that are not UTF-8, or control characters.
    case encoding
    case syntax
    /// Anchors, aliases, tags and keys that are not scalars: YAML, but not for configuration.
    case unsupported
    case duplicateKey = "duplicate-key"
    case severalDocuments = "several-documents"
    case outOfMemory = "out-of-memory"
  }

  package let code: Code
  package let message: String
  package let place: YAMLPlace

  package var line: Int { place.line }
  package var column: Int { place.column }
  package var description: String { "line \(line), column \(column): \(message)" }
}

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
