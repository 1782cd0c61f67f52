import COpenSSL

/// HMAC with SHA-256 (RFC 2104), which is also both steps of HKDF (RFC 5869) where 32 bytes are
/// enough. It keeps its memory from one code to the next. Confined to its user.
package final class HMACSHA256 {
  package static let byteCount = 32
  private let context: OpaquePointer

  package init() throws(TLSError) {
    OpenSSLStart.once()
    ERR_clear_error()
    let algorithm = EVP_MAC_fetch(nil, "HMAC", nil)
    // The context keeps a reference of its own.
    defer { EVP_MAC_free(algorithm) }
    guard let algorithm, let context = EVP_MAC_CTX_new(algorithm) else {
      throw TLSError(.internalFailure, "OpenSSL has no HMAC")
    }
    self.context = context
    var digest = Array("SHA256".utf8CString)
    let isSet = digest.withUnsafeMutableBufferPointer { name in
      let parameters = [
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.baseAddress, 0),
        OSSL_PARAM_construct_end(),
      ]
      return EVP_MAC_CTX_set_params(context, parameters) == 1
    }
    guard isSet else { throw TLSError(.internalFailure, "OpenSSL has no HMAC with SHA-256") }
  }

  deinit { EVP_MAC_CTX_free(context) }

  /// Writes 32 bytes to `code`, which may be the key's own memory.
  package func code(
    key: UnsafeRawBufferPointer, _ message: UnsafeRawBufferPointer,
    to code: UnsafeMutableRawPointer
  ) throws(TLSError) {
    let secret = key.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let text = message.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let target = code.assumingMemoryBound(to: UInt8.self)
    var written = 0
    guard EVP_MAC_init(context, secret, key.count, nil) == 1,
      EVP_MAC_update(context, text, message.count) == 1,
      EVP_MAC_final(context, target, &written, Self.byteCount) == 1, written == Self.byteCount
    else { throw TLSError(.internalFailure, "OpenSSL made no HMAC") }
  }
  /// The same for who need not save memory: 32 bytes.
  package func code(key: [UInt8], _ message: [UInt8]) throws(TLSError) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: Self.byteCount)
    // `rethrows` knows no typed errors.
    let result = code.withUnsafeMutableBytes { target in
      key.withUnsafeBytes { key in
        message.withUnsafeBytes { message in
          Result { () throws(TLSError) in
            guard let start = target.baseAddress else { return }
            try self.code(key: key, message, to: start)
          }
        }
      }
    }
    try result.get()
    return code
  }
}
