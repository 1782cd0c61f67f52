import COpenSSL

/// Why TLS refused: a stable code, what happened, and OpenSSL's own words.
package struct TLSError: Error, Sendable, CustomStringConvertible {
  package enum Code: String, Sendable {
    case badKey, badCertificate, badAuthority, handshake, untrusted, hostMismatch, expired
    /// The peer's key or signature is shorter than is safe.
    case weak
    /// The peer speaks no TLS 1.2.
    case oldVersion
    /// The peer takes not the certificate that it was shown, or wants one.
    case refusedCertificate
    /// The peer's first words are not TLS.
    case notTLS
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

  /// Where an operator may look; nil: nothing is known but the words, or the caller knows
  /// better.
  package var hint: String? {
    switch code {
    case .hostMismatch: "is this the host's own name? Its certificate names others"
    case .expired: "the server needs a new certificate, or this machine's clock is wrong"
    case .weak:
      "the server needs a certificate with an RSA key of 2,048 bits, or P-256, signed with SHA-256"
    case .oldVersion: "the server must speak TLS 1.2 or newer"
    case .refusedCertificate:
      "the certificate that the server is shown must be one of Apple's for this app, neither over "
        + "nor revoked"
    case .notTLS: "is this the right port? What answers there is not TLS"
    case .noProtocol: "is this the right port? What answers there speaks another protocol"
    default: nil
    }
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
