import TLS
import Text

/// All keys that are good now: a file with a line for each, `NAME SCOPE sha256:HEX`. A key is
/// revoked by taking its line out.
package struct APIKeyRing: Sendable, Equatable {
  package static let maximumKeys = 256
  package static let maximumFileBytes = 64 << 10

  package let keys: [APIKey]

  /// Why a file holds no keys.
  package struct Flaw: Error, Sendable, Equatable {
    package let message: String
  }

  package init(keys: [APIKey]) { self.keys = keys }

  /// - Throws: where the first line is that is none; a ring that lacks a key is never used.
  package init(text: String) throws(Flaw) {
    var keys: [APIKey] = []
    var names: Set<String> = []
    var linesOfDigests: [[UInt8]: Int] = [:]
    // An end of a line may be CR LF, which is one character.
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() {
      let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
      guard let first = words.first, !first.hasPrefix("#") else { continue }
      func flaw(_ what: String) -> Flaw { Flaw(message: "line \(index + 1): \(what)") }
      guard words.count == 3 else {
        throw flaw("a line is NAME SCOPE sha256:HEX; `fanfare api-key` makes one")
      }
      guard APIKey.isName(String(first)) else {
        throw flaw("a name is 1 to 64 of the characters A-Z a-z 0-9 . _ -")
      }
      guard let scope = APIScope(rawValue: String(words[1])) else {
        let scopes = APIScope.allCases.map(\.rawValue).joined(separator: ", ")
        throw flaw("a scope is one of \(scopes)")
      }
      guard words[2].hasPrefix("sha256:"),
        let bytes = Hexadecimal.bytes(words[2].dropFirst("sha256:".count).utf8),
        let digest = SecretDigest(bytes: bytes)
      else { throw flaw("the digest is sha256: and 64 hex digits") }
      guard names.insert(String(first)).inserted else { throw flaw("\(first) comes twice") }
      // One key in two lines would have the scope of whichever comes first.
      if let other = linesOfDigests.updateValue(index + 1, forKey: bytes) {
        throw flaw("it is the key of line \(other): a key has one line, make another")
      }
      keys.append(APIKey(name: String(first), scope: scope, digest: digest))
    }
    guard keys.count <= Self.maximumKeys else {
      throw Flaw(message: "\(keys.count) keys, at most \(Self.maximumKeys) are taken")
    }
    self.keys = keys
  }

  /// Looks at all of them, whichever it is.
  func key(shown secret: String) -> APIKey? {
    let shown = SecretDigest(of: Array(secret.utf8))
    var found: APIKey?
    for key in keys where key.digest.isSame(as: shown) { found = key }
    return found
  }
}
