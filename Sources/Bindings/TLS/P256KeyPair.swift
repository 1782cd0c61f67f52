import COpenSSL

/// The curve P-256 (NIST FIPS 186-5; RFC 5480), for key agreement.
///
/// Unchecked: the group is only read after it was made.
final class P256Curve: @unchecked Sendable {
  static let shared = P256Curve()
  let group: OpaquePointer

  private init() {
    OpenSSLStart.once()
    guard let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else {
      // OpenSSL has it in every build that has TLS.
      preconditionFailure("OpenSSL has no P-256")
    }
    self.group = group
  }

  deinit { EC_GROUP_free(group) }

  /// A new point, which the caller frees; nil for anything but 65 bytes, the first of them 4, that
  /// are a point of the curve.
  func point(_ bytes: UnsafeRawBufferPointer, _ context: OpaquePointer) -> OpaquePointer? {
    guard bytes.count == P256KeyPair.pointBytes, bytes.first == 4,
      let point = EC_POINT_new(group)
    else { return nil }
    let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    guard EC_POINT_oct2point(group, point, start, bytes.count, context) == 1 else {
      ERR_clear_error()
      EC_POINT_free(point)
      return nil
    }
    return point
  }
}

/// A P-256 key pair that agrees on secrets with the holders of other pairs (ECDH).
///
/// Unchecked: what OpenSSL made is only read afterwards.
package final class P256KeyPair: @unchecked Sendable {
  /// Of a point that is not compressed: 4, then both coordinates.
  package static let pointBytes = 65
  package static let secretBytes = 32

  private let secret: OpaquePointer
  /// 65 bytes.
  package let publicPoint: [UInt8]

  /// - Parameter privateKey: 32 bytes, the most significant first.
  package convenience init(privateKey: [UInt8]) throws(TLSError) {
    ERR_clear_error()
    let order = EC_GROUP_get0_order(P256Curve.shared.group)
    guard privateKey.count == Self.secretBytes,
      let secret = BN_bin2bn(privateKey, Int32(privateKey.count), nil)
    else { throw TLSError(.badKey, "a private key of P-256 has 32 bytes", cause: nil) }
    guard BN_is_zero(secret) == 0, BN_cmp(secret, order) < 0 else {
      BN_clear_free(secret)
      throw TLSError(.badKey, "the private key is not one of the curve P-256", cause: nil)
    }
    try self.init(owning: secret)
  }

  package static func generate() throws(TLSError) -> P256KeyPair {
    ERR_clear_error()
    guard let secret = BN_secure_new() else {
      throw TLSError(.internalFailure, "OpenSSL gave no numbers")
    }
    let order = EC_GROUP_get0_order(P256Curve.shared.group)
    repeat {
      guard BN_priv_rand_range(secret, order) == 1 else {
        BN_clear_free(secret)
        throw TLSError(.internalFailure, "no key could be made")
      }
    } while BN_is_zero(secret) == 1
    return try P256KeyPair(owning: secret)
  }

  private init(owning secret: OpaquePointer) throws(TLSError) {
    BN_set_flags(secret, BN_FLG_CONSTTIME)
    guard let point = Self.publicPoint(of: secret) else {
      BN_clear_free(secret)
      throw TLSError(.internalFailure, "the public half of a key could not be computed")
    }
    self.secret = secret
    publicPoint = point
  }

  deinit { BN_clear_free(secret) }

  private static func publicPoint(of secret: OpaquePointer) -> [UInt8]? {
    let group = P256Curve.shared.group
    guard let context = BN_CTX_secure_new() else { return nil }
    defer { BN_CTX_free(context) }
    guard let point = EC_POINT_new(group) else { return nil }
    defer { EC_POINT_free(point) }
    var bytes = [UInt8](repeating: 0, count: pointBytes)
    guard EC_POINT_mul(group, point, secret, nil, nil, context) == 1,
      EC_POINT_point2oct(
        group, point, POINT_CONVERSION_UNCOMPRESSED, &bytes, bytes.count, context) == pointBytes
    else { return nil }
    return bytes
  }

  /// Whether these are 65 bytes that name a point of the curve, as the other side of an agreement
  /// must.
  package static func isPoint(_ bytes: [UInt8]) -> Bool {
    guard let context = BN_CTX_new() else { return false }
    defer { BN_CTX_free(context) }
    let point = bytes.withUnsafeBytes { P256Curve.shared.point($0, context) }
    EC_POINT_free(point)
    return point != nil
  }

  /// Writes the 32 bytes that both sides of an agreement compute: the x-coordinate of the product
  /// of our secret and their point.
  /// - Parameter point: 65 bytes.
  package func agree(
    with point: UnsafeRawBufferPointer, to shared: UnsafeMutableRawPointer
  ) throws(TLSError) {
    ERR_clear_error()
    let group = P256Curve.shared.group
    guard let context = BN_CTX_secure_new() else {
      throw TLSError(.internalFailure, "OpenSSL gave no numbers")
    }
    defer { BN_CTX_free(context) }
    // Every point of the curve but infinity, which has no 65 bytes, has the group's own order.
    guard let theirs = P256Curve.shared.point(point, context) else {
      throw TLSError(.badKey, "the public key is not a point of the curve P-256", cause: nil)
    }
    defer { EC_POINT_free(theirs) }
    BN_CTX_start(context)
    defer { BN_CTX_end(context) }
    guard let product = EC_POINT_new(group) else {
      throw TLSError(.internalFailure, "OpenSSL gave no point")
    }
    defer { EC_POINT_clear_free(product) }
    let target = shared.assumingMemoryBound(to: UInt8.self)
    guard let x = BN_CTX_get(context),
      EC_POINT_mul(group, product, nil, theirs, secret, context) == 1,
      EC_POINT_get_affine_coordinates(group, product, x, nil, context) == 1,
      BN_bn2binpad(x, target, Int32(Self.secretBytes)) == Self.secretBytes
    else { throw TLSError(.internalFailure, "the keys did not agree") }
  }
}

/// Bytes by chance that are no secret: salts.
package enum RandomBytes {
  package static func fill(_ bytes: UnsafeMutableRawBufferPointer) throws(TLSError) {
    let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    guard RAND_bytes(start, Int32(bytes.count)) == 1 else {
      throw TLSError(.internalFailure, "OpenSSL has no chance to give")
    }
  }
}
