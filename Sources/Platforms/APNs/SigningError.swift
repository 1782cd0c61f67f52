/// Why a key signs no provider token.
package struct SigningError: Error, Sendable, CustomStringConvertible {
  package let message: String
  package let cause: String?

  package init(_ message: String, cause: String? = nil) {
    self.message = message
    self.cause = cause
  }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }
}
