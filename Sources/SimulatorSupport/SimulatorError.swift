/// The reason why a simulator cannot start or take a script.
package struct SimulatorError: Error, Sendable, CustomStringConvertible {
  package enum Code: String, Sendable {
    /// The script, the mix or an option is wrong; the message names the place.
    case badScript, badOption
    /// The directory, the certificate, the key or the port cannot be had.
    case cannotStart
  }

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
