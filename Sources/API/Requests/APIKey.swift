import TLS
import Text

/// A key of the API, without its secret: only the digest of that is kept.
package struct APIKey: Sendable, Equatable {
  /// 1…64 of `A-Z a-z 0-9 . _ -`: its name, which audit lines show.
  package let name: String
  package let scope: APIScope
  let digest: SecretDigest

  /// So that people and scanners of repositories see what it is.
  static let prefix = "ffk_"
  private static let randomBytes = 32

  package static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isASCIIWord || $0 == 0x2D || $0 == 0x2E }
  }

  /// Makes a key. Returns the secret for its holder, which nobody can recover, and the line for the
  /// file of keys.
  package static func make(name: String, scope: APIScope) -> (secret: String, line: String) {
    let secret = prefix + Base64URL.encode(SecretDigest.random(randomBytes))
    let digest = SecretDigest(of: Array(secret.utf8))
    return (secret, "\(name) \(scope.rawValue) sha256:\(Hexadecimal.text(digest.bytes))")
  }
}
