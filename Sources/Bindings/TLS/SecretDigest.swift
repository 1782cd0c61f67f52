import COpenSSL

/// SHA-256 of a secret with enough chance in it that nobody can try them all: what is kept in place
/// of the secret.
package struct SecretDigest: Sendable, Equatable {
  package static let byteCount = 32
  package let bytes: [UInt8]

  package init(of secret: [UInt8]) {
    var digest = [UInt8](repeating: 0, count: Self.byteCount)
    var length = UInt32(0)
    let isMade = EVP_Digest(secret, secret.count, &digest, &length, EVP_sha256(), nil) == 1
    // OpenSSL has it in every build that has TLS.
    precondition(isMade && length == Self.byteCount, "OpenSSL has no SHA-256")
    bytes = digest
  }

  /// nil unless these are as many bytes as a digest has.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  /// Takes as long whatever the bytes are: nobody learns from the time how much was right.
  package func isSame(as other: SecretDigest) -> Bool {
    CRYPTO_memcmp(bytes, other.bytes, Self.byteCount) == 0
  }

  package static func == (left: SecretDigest, right: SecretDigest) -> Bool {
    left.isSame(as: right)
  }

  /// Bytes by chance, from OpenSSL's generator for private values.
  package static func random(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    precondition(RAND_priv_bytes(&bytes, Int32(count)) == 1, "OpenSSL has no chance to give")
    return bytes
  }
}
