import COpenSSL

/// A P-256 private key that signs as JSON Web Tokens ask for (RFC 7518, section 3.4), each message
/// in one way.
///
/// Unchecked: an EVP_PKEY is only read after it was made, and OpenSSL counts its references
/// atomically.
package final class ES256Key: @unchecked Sendable {
  fileprivate let handle: OpaquePointer

  fileprivate init(owning handle: OpaquePointer) { self.handle = handle }

  deinit { EVP_PKEY_free(handle) }

  /// The content of a `.p8` file as Apple hands it out: PEM, PKCS#8, curve P-256.
  package convenience init(pem: String) throws(TLSError) {
    OpenSSLStart.once()
    ERR_clear_error()
    guard pem.contains("PRIVATE KEY-----") else {
      throw TLSError(
        .badKey, "this is no private key (a .p8 file begins with BEGIN PRIVATE KEY)", cause: nil)
    }
    let read = withPEM(pem) { PEM_read_bio_PrivateKey($0, nil, refusePassphrase, nil) }
    guard let read else { throw TLSError(.badKey, "the private key cannot be read") }
    guard ossl_is_p256(read) == 1 else {
      EVP_PKEY_free(read)
      throw TLSError(.badKey, "the key is not on the curve P-256, which ES256 needs", cause: nil)
    }
    self.init(owning: read)
    try checkHalves()
  }

  /// A file can hold a private half and the public half of another key. OpenSSL reads and uses it,
  /// and what it signs nobody can verify: better known at the start than by Apple's 403.
  private func checkHalves() throws(TLSError) {
    _ = try sign(Array("a key is tried before it is used".utf8))
  }

  package static func generate() throws(TLSError) -> ES256Key {
    OpenSSLStart.once()
    ERR_clear_error()
    guard let key = ossl_generate_p256() else {
      throw TLSError(.internalFailure, "no key could be made")
    }
    return ES256Key(owning: key)
  }

  /// r and s, 32 bytes each. The same key signs the same message with the same bytes (RFC 6979).
  package func sign(_ message: [UInt8]) throws(TLSError) -> [UInt8] {
    ERR_clear_error()
    let signature = try DeterministicSigner(handle).sign(message)
    // OpenSSL's own word on it: a signature that is wrong may give the key away.
    guard ES256PublicKey(sharing: handle).verify(message, signature: signature) else {
      throw TLSError(
        .badKey, "the private half of the key does not fit its public half", cause: nil)
    }
    return signature
  }

  package var privateKeyPEM: String {
    textOf { PEM_write_bio_PKCS8PrivateKey($0, handle, nil, nil, 0, nil, nil) }
  }

  package var publicKeyPEM: String { textOf { PEM_write_bio_PUBKEY($0, handle) } }
}

/// The other half of a key: verifies what `ES256Key` signed.
///
/// Unchecked: as for the private key.
package final class ES256PublicKey: @unchecked Sendable {
  private let handle: OpaquePointer

  package init(pem: String) throws(TLSError) {
    OpenSSLStart.once()
    ERR_clear_error()
    guard let key = withPEM(pem, { PEM_read_bio_PUBKEY($0, nil, refusePassphrase, nil) }) else {
      throw TLSError(.badKey, "the public key cannot be read")
    }
    handle = key
    guard ossl_is_p256(key) == 1 else {
      throw TLSError(.badKey, "the key is not on the curve P-256, which ES256 needs", cause: nil)
    }
  }

  fileprivate init(sharing key: OpaquePointer) {
    // Balanced by `deinit`.
    EVP_PKEY_up_ref(key)
    handle = key
  }

  deinit { EVP_PKEY_free(handle) }

  /// False for anything but 64 bytes that this key's owner made over `message`.
  package func verify(_ message: [UInt8], signature: [UInt8]) -> Bool {
    guard signature.count == 64, let ecdsa = ECDSA_SIG_new() else { return false }
    defer { ECDSA_SIG_free(ecdsa) }
    let r = signature.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, 32, nil) }
    let s = signature.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress.map { $0 + 32 }, 32, nil) }
    guard let r, let s, ECDSA_SIG_set0(ecdsa, r, s) == 1 else {
      BN_free(r)
      BN_free(s)
      return false
    }
    var der: UnsafeMutablePointer<UInt8>?
    let length = i2d_ECDSA_SIG(ecdsa, &der)
    guard length > 0, let der, let digest = EVP_MD_CTX_new() else { return false }
    defer {
      CRYPTO_free(der, nil, 0)
      EVP_MD_CTX_free(digest)
      ERR_clear_error()
    }
    return EVP_DigestVerifyInit(digest, nil, EVP_sha256(), nil, handle) == 1
      && EVP_DigestVerify(digest, der, Int(length), message, message.count) == 1
  }
}

/// A key with a pass phrase is an error, not a prompt on the terminal.
func refusePassphrase(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ writing: Int32,
  _ context: UnsafeMutableRawPointer?
) -> Int32 { -1 }

/// The BIO keeps the address it gets and reads there until it is freed, so the text is lent around
/// all of its life: what Swift passes for an array is good for the one call only.
func withPEM(_ pem: String, _ read: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
  var pem = pem
  return pem.withUTF8 { bytes in
    guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
      return nil
    }
    defer { BIO_free(bio) }
    return read(bio)
  }
}

/// What `write` wrote, or nothing when it failed.
func textOf(_ write: (OpaquePointer) -> Int32) -> String {
  guard let bio = BIO_new(BIO_s_mem()) else { return "" }
  defer { BIO_free(bio) }
  guard write(bio) == 1 else { return "" }
  var data: UnsafeMutablePointer<CChar>?
  let count = ossl_memory_bio_data(bio, &data)
  guard let data, count > 0 else { return "" }
  return String(decoding: UnsafeRawBufferPointer(start: data, count: count), as: UTF8.self)
}

extension ES256Key {
  func withHandle<T>(_ body: (OpaquePointer) -> T) -> T { body(handle) }
}
