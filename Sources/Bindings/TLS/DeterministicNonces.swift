import COpenSSL

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
