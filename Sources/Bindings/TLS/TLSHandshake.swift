import COpenSSL

/// The result of a handshake, and the certificates that the peer showed.
package struct TLSHandshake: Sendable, Equatable {
  /// `TLS 1.3`
  package let version: String
  /// The protocol of both sides (ALPN); nil: they have not agreed on any.
  package let applicationProtocol: String?
  /// The peer's own certificate first, then those of its authorities, as far as it sent them.
  package let chain: [CertificateSummary]

  package init(version: String, applicationProtocol: String?, chain: [CertificateSummary]) {
    self.version = version
    self.applicationProtocol = applicationProtocol
    self.chain = chain
  }
}

extension TLSSession {
  /// Of an established session of a client.
  package var agreed: TLSHandshake? {
    guard isEstablished else { return nil }
    let chain = SSL_get_peer_cert_chain(ssl)
    let certificates = (0..<max(0, ossl_certificate_count(chain))).compactMap { index in
      ossl_certificate_at(chain, index).map { CertificateSummary($0) }
    }
    let version = SSL_get_version(ssl).map { String(cString: $0) } ?? "unknown"
    return TLSHandshake(
      version: version.replacing("TLSv", with: "TLS "), applicationProtocol: applicationProtocol,
      chain: certificates)
  }
}

/// The name, the issuer and the validity of a certificate.
package struct CertificateSummary: Sendable, Equatable {
  /// The common name of its subject; a certificate without one has an empty name.
  package let name: String
  package let issuer: String
  /// Seconds since 1970.
  package let beginsAt: Int64
  package let expiresAt: Int64

  package init(name: String, issuer: String, beginsAt: Int64, expiresAt: Int64) {
    self.name = name
    self.issuer = issuer
    self.beginsAt = beginsAt
    self.expiresAt = expiresAt
  }

  init(_ certificate: OpaquePointer) {
    let contents = CertificateContents(certificate)
    beginsAt = contents.beginsAt
    expiresAt = contents.expiresAt
    name = Self.commonName(X509_get_subject_name(certificate))
    issuer = Self.commonName(X509_get_issuer_name(certificate))
    ERR_clear_error()
  }

  /// The certificates of a PEM file, in its order; none in what is no PEM. What comes behind the
  /// `maximum`-th is left out.
  package static func all(pem: String, maximum: Int = 500) -> [CertificateSummary] {
    OpenSSLStart.once()
    ERR_clear_error()
    var all: [CertificateSummary] = []
    _ = withPEM(pem) { bio in
      while all.count < maximum, let next = PEM_read_bio_X509(bio, nil, nil, nil) {
        all.append(CertificateSummary(next))
        X509_free(next)
      }
      return nil
    }
    ERR_clear_error()
    return all
  }

  /// The first of several; empty where there is none.
  private static func commonName(_ name: OpaquePointer?) -> String {
    var text = [CChar](repeating: 0, count: 256)
    let count = X509_NAME_get_text_by_NID(name, NID_commonName, &text, Int32(text.count))
    guard count > 0 else { return "" }
    let bytes = text.prefix(min(Int(count), text.count)).prefix { $0 != 0 }
    return String(decoding: bytes.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
