import COpenSSL

/// An RSA private key that signs as JSON Web Tokens ask for RS256 (RFC 7518, section 3.3): the same
/// message always in the same way.
///
/// Unchecked: an EVP_PKEY is only read after it was made, and OpenSSL counts its references
/// atomically.
package final class RS256Key: @unchecked Sendable {
  private let handle: OpaquePointer

  /// RFC 7518, section 3.3: "a key of size 2048 bits or larger MUST be used".
  private static let minimumBits: Int32 = 2048
  /// No larger one is in use, and each signature costs the cube of it.
  private static let maximumBits: Int32 = 8192

  /// PEM, PKCS#8: `private_key` in the file of a service account of Google's.
  package init(pem: String) throws(TLSError) {
    OpenSSLStart.once()
    ERR_clear_error()
    guard pem.contains("PRIVATE KEY-----") else {
      throw TLSError(
        .badKey, "this is no private key (a PEM begins with BEGIN PRIVATE KEY)", cause: nil)
    }
    let read = withPEM(pem) { PEM_read_bio_PrivateKey($0, nil, refusePassphrase, nil) }
    guard let read else { throw TLSError(.badKey, "the private key cannot be read") }
    handle = read
    guard EVP_PKEY_is_a(read, "RSA") == 1 else {
      throw TLSError(.badKey, "the key is no RSA key, which RS256 needs", cause: nil)
    }
    let bits = EVP_PKEY_get_bits(read)
    guard (Self.minimumBits...Self.maximumBits).contains(bits) else {
      throw TLSError(
        .badKey,
        "the RSA key has \(bits) bits: \(Self.minimumBits) to \(Self.maximumBits) are usable",
        cause: nil)
    }
    // A file whose numbers do not fit each other is better known at the start.
    _ = try sign(Array("a key is tried before it is used".utf8))
  }

  deinit { EVP_PKEY_free(handle) }

  /// As many bytes as the key has.
  package func sign(_ message: [UInt8]) throws(TLSError) -> [UInt8] {
    ERR_clear_error()
    guard let digest = EVP_MD_CTX_new() else {
      throw TLSError(.internalFailure, "OpenSSL gave no digest")
    }
    defer { EVP_MD_CTX_free(digest) }
    var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(handle)))
    var length = signature.count
    guard EVP_DigestSignInit(digest, nil, EVP_sha256(), nil, handle) == 1,
      EVP_DigestSign(digest, &signature, &length, message, message.count) == 1,
      length == signature.count
    else { throw TLSError(.badKey, "the key did not sign") }
    // OpenSSL's own word on it: a signature that is wrong may give the key away.
    guard RS256PublicKey(sharing: handle).verify(message, signature: signature) else {
      throw TLSError(
        .badKey, "the private half of the key does not fit its public half", cause: nil)
    }
    return signature
  }
}
