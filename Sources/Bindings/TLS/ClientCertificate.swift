import COpenSSL

/// A certificate and its key, by which a client shows a server who it is; Apple's name an app, or
/// several, in them ("Establishing a certificate-based connection to APNs").
///
/// Unchecked: what OpenSSL made is only read afterwards, and it counts references atomically.
package final class ClientCertificate: @unchecked Sendable {
  let certificate: OpaquePointer
  let key: OpaquePointer
  /// The certificates between it and an authority that the server knows.
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
      throw TLSError(.badKey, "there is no private key beside the certificate", cause: nil)
    }
    guard let key = Self.key(pem, passphrase) else {
      throw TLSError(.badKey, "the certificate's key cannot be read: is the passphrase right?")
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

/// Reads `.p12` files, as macOS exports them.
enum PKCS12 {
  /// Certificates and key as PEM, without a passphrase: it never leaves the process.
  static func pem(_ file: [UInt8], passphrase: String) throws(TLSError) -> String {
    OpenSSLStart.once()
    ERR_clear_error()
    if let pem = read(file, passphrase, PKCS12_init(NID_pkcs7_data)) { return pem }
    let cause = TLSError.takeCause()
    // The keychain of macOS encrypts with RC2, which OpenSSL 3 keeps in a provider of its own. It
    // is loaded for this file only: nothing else of the process may use it.
    if let context = OSSL_LIB_CTX_new() {
      defer { OSSL_LIB_CTX_free(context) }
      let providers = [
        OSSL_PROVIDER_load(context, "default"), OSSL_PROVIDER_load(context, "legacy"),
      ]
      defer { for provider in providers where provider != nil { OSSL_PROVIDER_unload(provider) } }
      if let pem = read(file, passphrase, PKCS12_init_ex(NID_pkcs7_data, context, nil)) {
        return pem
      }
    }
    ERR_clear_error()
    throw TLSError(
      .badCertificate, "this is neither PEM nor PKCS#12 that the passphrase opens", cause: cause)
  }

  /// - Parameter made: an empty one, which is filled in or freed here.
  private static func read(
    _ file: [UInt8], _ passphrase: String, _ made: OpaquePointer?
  ) -> String? {
    var store = made
    let isRead = file.withUnsafeBufferPointer { bytes in
      var cursor = bytes.baseAddress
      return d2i_PKCS12(&store, &cursor, bytes.count) != nil
    }
    // The call frees certificates that it cannot read, and then leaves nil.
    guard isRead, let store else { return nil }
    defer { PKCS12_free(store) }
    var key: OpaquePointer?
    var certificate: OpaquePointer?
    var others: OpaquePointer?
    guard PKCS12_parse(store, passphrase, &key, &certificate, &others) == 1 else { return nil }
    defer {
      EVP_PKEY_free(key)
      X509_free(certificate)
      ossl_free_certificates(others)
    }
    guard let key, let certificate else { return nil }
    var pem = textOf { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) }
    pem += textOf { PEM_write_bio_X509($0, certificate) }
    for index in 0..<max(0, ossl_certificate_count(others)) {
      guard let other = ossl_certificate_at(others, index) else { continue }
      pem += textOf { PEM_write_bio_X509($0, other) }
    }
    return pem
  }
}
