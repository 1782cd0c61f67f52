import COpenSSL

/// An RSA key that was made by chance, as PEM texts: for a simulator's service account, and tests.
package struct RS256KeyPair: Sendable {
  /// PKCS#8, as in the file of a service account.
  package let privateKeyPEM: String
  package let publicKeyPEM: String

  /// Of a key that was written down.
  package init(privateKeyPEM: String, publicKeyPEM: String) {
    self.privateKeyPEM = privateKeyPEM
    self.publicKeyPEM = publicKeyPEM
  }

  /// Makes a key of 2,048 bits, which takes a tenth of a second.
  package static func generate() throws(TLSError) -> RS256KeyPair {
    OpenSSLStart.once()
    ERR_clear_error()
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else {
      throw TLSError(.internalFailure, "OpenSSL gave no maker of keys")
    }
    defer { EVP_PKEY_CTX_free(context) }
    var made: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) == 1,
      EVP_PKEY_generate(context, &made) == 1, let key = made
    else { throw TLSError(.internalFailure, "no key could be made") }
    defer { EVP_PKEY_free(key) }
    return RS256KeyPair(
      privateKeyPEM: textOf { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) },
      publicKeyPEM: textOf { PEM_write_bio_PUBKEY($0, key) })
  }
}

/// The public half of an RSA key: verifies signatures of RS256 (RFC 7518, section 3.3).
///
/// Unchecked: an EVP_PKEY is only read after it was made, and OpenSSL counts its references
/// atomically.
package final class RS256PublicKey: @unchecked Sendable {
  private let handle: OpaquePointer

  package init(pem: String) throws(TLSError) {
    OpenSSLStart.once()
    ERR_clear_error()
    guard let key = withPEM(pem, { PEM_read_bio_PUBKEY($0, nil, refusePassphrase, nil) }) else {
      throw TLSError(.badKey, "the public key cannot be read")
    }
    handle = key
    guard EVP_PKEY_is_a(key, "RSA") == 1 else {
      throw TLSError(.badKey, "the key is no RSA key, which RS256 needs", cause: nil)
    }
  }

  init(sharing key: OpaquePointer) {
    // Balanced by `deinit`.
    EVP_PKEY_up_ref(key)
    handle = key
  }

  deinit { EVP_PKEY_free(handle) }

  /// Returns whether this key's owner made `signature` over `message`.
  package func verify(_ message: [UInt8], signature: [UInt8]) -> Bool {
    guard let digest = EVP_MD_CTX_new() else { return false }
    defer {
      EVP_MD_CTX_free(digest)
      ERR_clear_error()
    }
    return EVP_DigestVerifyInit(digest, nil, EVP_sha256(), nil, handle) == 1
      && EVP_DigestVerify(digest, signature, signature.count, message, message.count) == 1
  }
}
