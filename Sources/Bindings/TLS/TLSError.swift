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

/// Our own words where OpenSSL's are those of its authors.
extension TLSError {
  /// Translates OpenSSL's verdict on the peer's certificate.
  init(verdict: Int, host: String?) {
    let words = String(cString: X509_verify_cert_error_string(verdict))
    switch Int32(verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
      self.init(
        .hostMismatch, "the certificate is not for \(host ?? "this host")", cause: words)
    case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID:
      self.init(.expired, "the certificate is not valid at this time", cause: words)
    case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK:
      self.init(.weak, "the certificate is too weak to be trusted", cause: words)
    default:
      self.init(
        .untrusted, "the certificate is not signed by a trusted authority (set the CA file?)",
        cause: words)
    }
  }

  /// Translates the first error of a handshake that is no verdict on the peer's certificate.
  init(handshake error: UInt) {
    switch ossl_error_reason(error) {
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, SSL_R_UNSUPPORTED_PROTOCOL,
      SSL_R_UNKNOWN_PROTOCOL, SSL_R_WRONG_SSL_VERSION:
      self.init(.oldVersion, "the peer speaks no version of TLS that is safe")
    case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST:
      self.init(.notTLS, "the peer does not speak TLS")
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
      self.init(.noProtocol, "the peer speaks none of the protocols that were offered (ALPN)")
    default:
      self =
        TLSError(refusalOfOurs: error) ?? TLSError(.handshake, "the TLS handshake failed")
    }
  }

  /// Nil for an error that is no word of the peer's on our certificate.
  init?(refusalOfOurs error: UInt) {
    switch ossl_error_reason(error) {
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
      SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
      SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, SSL_R_TLSV1_ALERT_UNKNOWN_CA,
      SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      self.init(.refusedCertificate, "the peer does not take our certificate")
    default: return nil
    }
  }
}
