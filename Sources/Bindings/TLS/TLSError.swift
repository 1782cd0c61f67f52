import COpenSSL

/// Why TLS refused: a stable code, what happened, and OpenSSL's own words.
package struct TLSError: Error, Sendable, CustomStringConvertible {
  package enum Code: String, Sendable {
    case badKey, badCertificate, badAuthority, handshake, untrusted, hostMismatch, expired
    case noProtocol, protocolViolation, closed, internalFailure
  }

  package let code: Code
  package let message: String
  package let cause: String?

  init(_ code: Code, _ message: String, cause: String? = TLSError.takeCause()) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package var description: String {
    guard let cause, !cause.isEmpty else { return message }
    return "\(message) (\(cause))"
  }

  /// Empties OpenSSL's queue of errors of this thread; the first one is the reason.
  static func takeCause() -> String? {
    let first = ERR_get_error()
    ERR_clear_error()
    guard first != 0 else { return nil }
    if let reason = ERR_reason_error_string(first) { return String(cString: reason) }
    return "OpenSSL error \(String(first, radix: 16))"
  }
}
