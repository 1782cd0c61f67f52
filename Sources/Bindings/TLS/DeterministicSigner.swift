import COpenSSL

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
