import Glibc
import TLS

/// Why a connection could not be made or ended.
package struct TransportError: Error, Sendable, CustomStringConvertible {
  package enum Code: String, Sendable {
    /// The proxy on the way refused, or is none.
    case proxy
    /// `TransportOptions.refusesAddress` refuses every address of the server.
    case refusedAddress
    case unresolved, unreachable, timeout, tls, reset, closedByPeer, cannotListen, noDescriptors
  }

  package let code: Code
  package let message: String
  /// The error of TLS, when `code` is `.tls`.
  package let cause: TLSError?

  package init(_ code: Code, _ message: String, cause: TLSError? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  static func system(_ code: Code, _ what: String, _ number: Int32) -> TransportError {
    TransportError(code, "\(what): \(String(cString: strerror(number)))")
  }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }
}
