/// Why a lane cannot send.
package struct DeliverError: Error, Sendable, CustomStringConvertible {
  package enum Code: String, Sendable { case signing }

  package let code: Code
  package let message: String
  package let cause: String?

  package init(_ code: Code, _ message: String, cause: String? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }
}
