import COpenSSL

/// What macOS exports as `.p12`.
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
    // What cannot be read is freed by the call, which then leaves nil.
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
