import COpenSSL

/// A certificate and its key, by which a client shows a server who it is; Apple's name an app, or
/// several, in them ("Establishing a certificate-based connection to APNs").
///
/// Unchecked: what OpenSSL made is only read afterwards, and it counts references atomically.
package final class ClientCertificate: @unchecked Sendable {
  let certificate: OpaquePointer
  let key: OpaquePointer
  /// What stands between it and an authority that the server knows.
  let chain: [OpaquePointer]
  package let contents: CertificateContents

  /// - Parameters:
  ///   - file: PKCS#12 (`.p12`), or PEM with the certificate, its key and perhaps a chain.
  ///   - passphrase: of a key or file that has one.
  package convenience init(file: [UInt8], passphrase: String?) throws(TLSError) {
    let marker = Array("-----BEGIN".utf8)
    let isPEM = file.indices.contains { file[$0...].starts(with: marker) }
    if isPEM {
      try self.init(pem: String(decoding: file, as: UTF8.self), passphrase: passphrase)
    } else {
      let pem = try PKCS12.pem(file, passphrase: passphrase ?? "")
      try self.init(pem: pem, passphrase: nil)
    }
  }

  private init(pem: String, passphrase: String?) throws(TLSError) {
    OpenSSLStart.once()
    ERR_clear_error()
    guard pem.contains("PRIVATE KEY-----") else {
      throw TLSError(
        .badKey, "there is no private key beside the certificate", cause: nil)
    }
    guard let key = Self.key(pem, passphrase) else {
      throw TLSError(
        .badKey, "the certificate's key cannot be read: is the passphrase right?")
    }
    var all = Self.certificates(pem)
    ERR_clear_error()
    guard let own = all.firstIndex(where: { X509_check_private_key($0, key) == 1 }) else {
      ERR_clear_error()
      EVP_PKEY_free(key)
      for certificate in all { X509_free(certificate) }
      guard !all.isEmpty else {
        throw TLSError(.badCertificate, "there is no certificate", cause: nil)
      }
      throw TLSError(.badKey, "the key belongs to none of the certificates", cause: nil)
    }
    self.key = key
    certificate = all.remove(at: own)
    chain = all
    contents = CertificateContents(certificate)
  }

  deinit {
    X509_free(certificate)
    EVP_PKEY_free(key)
    for certificate in chain { X509_free(certificate) }
  }

  private static func key(_ pem: String, _ passphrase: String?) -> OpaquePointer? {
    guard let passphrase else {
      return withPEM(pem) { PEM_read_bio_PrivateKey($0, nil, refusePassphrase, nil) }
    }
    var text = Array(passphrase.utf8CString)
    return text.withUnsafeMutableBytes { text in
      withPEM(pem) { PEM_read_bio_PrivateKey($0, nil, nil, text.baseAddress) }
    }
  }

  /// In the order of the file; what comes behind the tenth is left out: no chain is so long.
  private static func certificates(_ pem: String) -> [OpaquePointer] {
    var all: [OpaquePointer] = []
    _ = withPEM(pem) { bio in
      while all.count < 10, let next = PEM_read_bio_X509(bio, nil, nil, nil) { all.append(next) }
      return nil
    }
    return all
  }
}
