import COpenSSL

/// Authenticated encryption with AES-128 in Galois/Counter Mode (NIST SP 800-38D), without
/// additional data. It keeps its memory from one message to the next. Confined to its user.
package final class AES128GCM {
  package static let keyBytes = 16
  package static let nonceBytes = 12
  package static let tagBytes = 16

  private let context: OpaquePointer

  package init() throws(TLSError) {
    OpenSSLStart.once()
    ERR_clear_error()
    let cipher = EVP_CIPHER_fetch(nil, "AES-128-GCM", nil)
    // The context keeps a reference of its own.
    defer { EVP_CIPHER_free(cipher) }
    guard let cipher, let context = EVP_CIPHER_CTX_new() else {
      throw TLSError(.internalFailure, "OpenSSL has no AES-128-GCM")
    }
    self.context = context
    guard EVP_EncryptInit_ex2(context, cipher, nil, nil, nil) == 1 else {
      throw TLSError(.internalFailure, "OpenSSL has no AES-128-GCM")
    }
  }

  deinit { EVP_CIPHER_CTX_free(context) }

  /// Writes `first` and `second`, encrypted as one message, and 16 bytes of tag behind it. Two
  /// messages with one key must have different nonces.
  /// - Parameters:
  ///   - key: 16 bytes.
  ///   - nonce: 12 bytes.
  package func seal(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer,
    key: UnsafeRawPointer, nonce: UnsafeRawPointer, to target: UnsafeMutableRawPointer
  ) throws(TLSError) {
    let output = target.assumingMemoryBound(to: UInt8.self)
    var written: Int32 = 0
    var rest: Int32 = 0
    let count = first.count + second.count
    guard
      EVP_EncryptInit_ex2(
        context, nil, key.assumingMemoryBound(to: UInt8.self),
        nonce.assumingMemoryBound(to: UInt8.self), nil) == 1,
      EVP_EncryptUpdate(
        context, output, &written, first.baseAddress?.assumingMemoryBound(to: UInt8.self),
        Int32(first.count)) == 1,
      EVP_EncryptUpdate(
        context, output + first.count, &written,
        second.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(second.count)) == 1,
      EVP_EncryptFinal_ex(context, output + count, &rest) == 1,
      EVP_CIPHER_CTX_ctrl(
        context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagBytes), output + count) == 1
    else { throw TLSError(.internalFailure, "OpenSSL encrypted nothing") }
  }

  /// The message that `seal` encrypted; nil unless its tag, the last 16 bytes, is right.
  package func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
    guard sealed.count >= Self.tagBytes, key.count == Self.keyBytes,
      nonce.count == Self.nonceBytes
    else { return nil }
    defer { ERR_clear_error() }
    let count = sealed.count - Self.tagBytes
    var tag = Array(sealed[count...])
    var message = [UInt8](repeating: 0, count: count + 1)
    var written: Int32 = 0
    var rest: Int32 = 0
    guard EVP_DecryptInit_ex2(context, nil, key, nonce, nil) == 1,
      EVP_DecryptUpdate(context, &message, &written, sealed, Int32(count)) == 1,
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1,
      EVP_DecryptFinal_ex(context, &tag, &rest) == 1
    else { return nil }
    return Array(message[..<count])
  }
}
