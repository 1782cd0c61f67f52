/// A mistake in a command line. The message says what to type instead.
package struct TerminalError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: Sendable, Equatable {
    case unknownVerb, missingVerb
    case unknownOption, repeatedOption, missingOption
    case missingValue, unexpectedValue, invalidValue
    case missingArgument, unexpectedArgument
  }

  package let code: Code
  package let message: String
  /// The reason why a value was refused.
  package let cause: String?
  /// The verbs read so far: whose `--help` to read.
  package let path: [String]

  package init(_ code: Code, _ message: String, cause: String? = nil, path: [String] = []) {
    self.code = code
    self.message = message
    self.cause = cause
    self.path = path
  }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }
}
