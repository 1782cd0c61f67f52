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

  /// - Parameter privateKey: 32 bytes, the most significant first, as key pairs for Web Push are
  ///   handed out.
  package convenience init(privateKey: [UInt8]) throws(TLSError) {
    OpenSSLStart.once()
    ERR_clear_error()
    // OpenSSL reads numbers that are no key of the curve.
    _ = try P256KeyPair(privateKey: privateKey)
    // RFC 5915, section 3: an ECPrivateKey of version 1 on prime256v1, without the public half,
    // which OpenSSL computes.
    let der: [UInt8] =
      [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20] + privateKey
      + [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
    let read = der.withUnsafeBufferPointer { bytes in
      var cursor = bytes.baseAddress
      return d2i_PrivateKey(EVP_PKEY_EC, nil, &cursor, bytes.count)
    }
    guard let read else {
      throw TLSError(.badKey, "the private key is not one of the curve P-256")
    }
    self.init(owning: read)
    try checkHalves()
  }

  /// The public half as a point that is not compressed: 65 bytes, the first of them 4.
  package func publicPoint() throws(TLSError) -> [UInt8] {
    ERR_clear_error()
    var start: UnsafeMutablePointer<UInt8>?
    let count = EVP_PKEY_get1_encoded_public_key(handle, &start)
    defer { CRYPTO_free(start, nil, 0) }
    guard let start, count == P256KeyPair.pointBytes, start.pointee == 4 else {
      throw TLSError(.badKey, "the key's public half cannot be written as a point")
    }
    return Array(UnsafeBufferPointer(start: start, count: count))
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

  /// - Parameter point: 65 bytes, the first of them 4, that name a point of the curve.
  package init(point: [UInt8]) throws(TLSError) {
    OpenSSLStart.once()
    ERR_clear_error()
    // RFC 5480, section 2: a SubjectPublicKeyInfo of id-ecPublicKey on prime256v1.
    let der: [UInt8] =
      [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08,
        0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
      ] + point
    let read = der.withUnsafeBufferPointer { bytes in
      var cursor = bytes.baseAddress
      return d2i_PUBKEY(nil, &cursor, bytes.count)
    }
    guard point.count == P256KeyPair.pointBytes, point.first == 4, let read else {
      EVP_PKEY_free(read)
      throw TLSError(.badKey, "the public key is not a point of the curve P-256")
    }
    handle = read
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

/// The text that `write` wrote, or nothing when it failed.
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

/// The nonces that RFC 6979, section 3.2, derives from a key and the digest of a message, for
/// P-256 with SHA-256: whoever has the same key makes the same signature, without a word with
/// others, and no weak source of chance can give the key away.
///
/// With this curve and digest all lengths are 32 bytes, so that the RFC's bits2int changes nothing.
struct DeterministicNonces {
  private var key = [UInt8](repeating: 0, count: 32)
  private var value = [UInt8](repeating: 1, count: 32)

  /// - Parameters:
  ///   - privateKey: 32 bytes.
  ///   - digest: of the message, less than the curve's order (the RFC's bits2octets): 32 bytes.
  init(privateKey: [UInt8], digest: [UInt8]) throws(TLSError) {
    for separator in [UInt8(0), 1] {
      key = try Self.code(key, value + [separator] + privateKey + digest)
      value = try Self.code(key, value)
    }
  }

  /// The next candidate. It is of no use when it is zero or not less than the order.
  mutating func next() throws(TLSError) -> [UInt8] {
    value = try Self.code(key, value)
    let nonce = value
    key = try Self.code(key, value + [0])
    value = try Self.code(key, value)
    return nonce
  }

  private static func code(_ key: [UInt8], _ message: [UInt8]) throws(TLSError) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: 32)
    guard HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &code, nil) != nil
    else { throw TLSError(.internalFailure, "OpenSSL made no HMAC") }
    return code
  }
}

/// ECDSA over P-256 and SHA-256 with the nonces of RFC 6979, which OpenSSL 3.0 does not offer
/// (`nonce-type` came with 3.2). It signs once in half an hour and nobody sees how long it takes;
/// what depends on secrets goes through OpenSSL's constant-time functions all the same.
///
/// Confined to one signature.
struct DeterministicSigner: ~Copyable {
  private let group: OpaquePointer
  private let context: OpaquePointer
  private let secret: OpaquePointer

  /// - Parameter key: an EVP_PKEY on the curve P-256 with its private half.
  init(_ key: OpaquePointer) throws(TLSError) {
    var secret: OpaquePointer?
    guard EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &secret) == 1, let secret else {
      throw TLSError(.badKey, "the key has no private half")
    }
    guard let context = BN_CTX_secure_new() else {
      BN_clear_free(secret)
      throw TLSError(.internalFailure, "OpenSSL gave no numbers")
    }
    guard let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else {
      BN_clear_free(secret)
      BN_CTX_free(context)
      throw TLSError(.internalFailure, "OpenSSL gave no curve")
    }
    self.secret = secret
    self.context = context
    self.group = group
  }

  deinit {
    BN_clear_free(secret)
    EC_GROUP_free(group)
    BN_CTX_free(context)
  }

  /// r and s, 32 bytes each.
  func sign(_ message: [UInt8]) throws(TLSError) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: 32)
    guard EVP_Digest(message, message.count, &hash, nil, EVP_sha256(), nil) == 1 else {
      throw TLSError(.internalFailure, "OpenSSL made no digest")
    }
    BN_CTX_start(context)
    defer { BN_CTX_end(context) }
    guard let order = EC_GROUP_get0_order(group), let digest = BN_CTX_get(context),
      BN_bin2bn(hash, 32, digest) != nil, BN_nnmod(digest, digest, order, context) == 1
    else { throw TLSError(.internalFailure, "OpenSSL gave no numbers") }
    var nonces = try DeterministicNonces(privateKey: bytes(secret), digest: bytes(digest))
    // A candidate is refused once in 2^32 messages; RFC 6979 goes on with the next.
    for _ in 0..<8 {
      if let signature = try sign(digest, nonce: nonces.next(), order: order) { return signature }
    }
    throw TLSError(.internalFailure, "no nonce was fit to sign with", cause: nil)
  }

  /// FIPS 186-4, section 6.4: r = x(kG) mod n, s = k⁻¹(digest + r·key) mod n. nil when this nonce
  /// is not to be used.
  private func sign(
    _ digest: OpaquePointer, nonce: [UInt8], order: OpaquePointer
  ) throws(TLSError) -> [UInt8]? {
    BN_CTX_start(context)
    defer { BN_CTX_end(context) }
    guard let k = BN_CTX_get(context), let inverse = BN_CTX_get(context),
      let exponent = BN_CTX_get(context), let r = BN_CTX_get(context),
      let s = BN_CTX_get(context), let point = EC_POINT_new(group)
    else { throw TLSError(.internalFailure, "OpenSSL gave no numbers") }
    defer { EC_POINT_clear_free(point) }
    guard BN_bin2bn(nonce, 32, k) != nil else {
      throw TLSError(.internalFailure, "OpenSSL gave no numbers")
    }
    guard BN_is_zero(k) == 0, BN_cmp(k, order) < 0 else { return nil }
    BN_set_flags(k, BN_FLG_CONSTTIME)
    // The order is a prime p, so the inverse is the power of p - 2 (Fermat).
    guard EC_POINT_mul(group, point, k, nil, nil, context) == 1,
      EC_POINT_get_affine_coordinates(group, point, r, nil, context) == 1,
      BN_nnmod(r, r, order, context) == 1,
      BN_copy(exponent, order) != nil, BN_sub_word(exponent, 2) == 1,
      BN_mod_exp_mont_consttime(inverse, k, exponent, order, context, nil) == 1,
      BN_mod_mul(s, r, secret, order, context) == 1,
      BN_mod_add(s, s, digest, order, context) == 1,
      BN_mod_mul(s, s, inverse, order, context) == 1
    else { throw TLSError(.internalFailure, "the key did not sign") }
    guard BN_is_zero(r) == 0, BN_is_zero(s) == 0 else { return nil }
    return try bytes(r) + bytes(s)
  }

  private func bytes(_ number: OpaquePointer) throws(TLSError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 32)
    guard BN_bn2binpad(number, &bytes, 32) == 32 else {
      throw TLSError(.internalFailure, "a number of the key is too long")
    }
    return bytes
  }
}
