/// Why a text is not the JSON document that it should be, and where.
package struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable, Equatable, CaseIterable {
    case empty
    case tooLarge = "too-large"
    case tooDeep = "too-deep"
    /// More values than anybody of ours writes.
    case tooManyValues = "too-many-values"
    /// A byte-order mark, UTF-16, or bytes that are not UTF-8.
    case encoding
    case syntax
    /// The document ends in the middle.
    case truncated
    /// Something follows the document.
    case trailingText = "trailing-text"
    case duplicateKey = "duplicate-key"
    /// An integer over 64 bits or a number over what a double holds.
    case numberRange = "number-range"
    /// `\u0000`, which no field of ours may hold.
    case nullCharacter = "null-character"
    case outOfMemory = "out-of-memory"
  }

  package let code: Code
  /// Printable text; may quote up to 20 characters of the input.
  package let message: String
  /// 1-based.
  package let line: Int
  /// 1-based, in characters (Unicode scalars).
  package let column: Int

  package init(code: Code, message: String, line: Int, column: Int) {
    self.code = code
    self.message = message
    self.line = line
    self.column = column
  }

  package var description: String { "line \(line), column \(column): \(message)" }
}
