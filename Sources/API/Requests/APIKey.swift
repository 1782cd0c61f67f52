import TLS
import Text

/// Somebody who may use the API. What they show is known by its digest alone.
package struct APIKey: Sendable, Equatable {
  /// 1…64 of `A-Z a-z 0-9 . _ -`: what audit lines call them.
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

  /// What its holder keeps, which cannot be had again, and the line for the file of keys.
  package static func make(name: String, scope: APIScope) -> (secret: String, line: String) {
    let secret = prefix + Base64URL.encode(SecretDigest.random(randomBytes))
    let digest = SecretDigest(of: Array(secret.utf8))
    return (secret, "\(name) \(scope.rawValue) sha256:\(Hexadecimal.text(digest.bytes))")
  }
}
