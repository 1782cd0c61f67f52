import Subscriptions
import TLS
import Text
import Threads

/// A key pair by which push services know this sender (VAPID, RFC 8292). A subscription that was
/// made with it takes messages of this sender alone.
package final class VAPIDKeys: Sendable {
  /// Names the pair in bindings.
  package let id: String
  /// 65 bytes: what a browser wants as `applicationServerKey`.
  package let publicKey: [UInt8]
  /// The same as text.
  package var applicationServerKey: String { Base64URL.encode(publicKey) }
  private let sign: Sign

  /// Signs as JSON Web Tokens ask for ES256 (RFC 7518, section 3.4).
  package typealias Sign = @Sendable (_ message: [UInt8]) throws(TLSError) -> [UInt8]

  /// - Parameters:
  ///   - id: letters, digits, `.`, `_` and `-`.
  ///   - privateKey: PEM, or 32 bytes as base64url.
  package convenience init(id: String, privateKey: String) throws(VAPIDProblem) {
    let text = Array(privateKey.utf8)
    let key: ES256Key
    do throws(TLSError) {
      if text.starts(with: "-----BEGIN".utf8) {
        key = try ES256Key(pem: privateKey)
      } else {
        let raw = Base64URL.decode(text.filter { $0 > UInt8(ascii: " ") }) ?? []
        key = try ES256Key(privateKey: raw)
      }
      try self.init(id: id, key)
    } catch {
      throw VAPIDProblem("the private key of the VAPID key pair \(id) is of no use", "\(error)")
    }
    guard BrowserSubscription.isKeyID(id) else {
      throw VAPIDProblem("the id of a VAPID key pair must be \(BrowserSubscription.keyIDRule)")
    }
  }

  private init(id: String, _ key: ES256Key) throws(TLSError) {
    self.id = id
    sign = { (message) throws(TLSError) in try key.sign(message) }
    publicKey = try key.publicPoint()
  }

  /// A pair whose private half is elsewhere.
  /// - Parameters:
  ///   - id: letters, digits, `.`, `_` and `-`.
  ///   - publicKey: 65 bytes.
  package init(id: String, publicKey: [UInt8], sign: @escaping Sign) {
    self.id = id
    self.publicKey = publicKey
    self.sign = sign
  }

  /// The value of `authorization` (RFC 8292, section 3).
  /// - Parameters:
  ///   - origin: that the token is for.
  ///   - expiresAt: seconds since 1970, at most a day ahead.
  func authorization(
    for origin: String, subject: VAPIDSubject, expiresAt: Int64
  ) throws(VAPIDProblem) -> String {
    let header = #"{"typ":"JWT","alg":"ES256"}"#
    let claims =
      #"{"aud":\#(JSONString.quoted(origin)),"exp":\#(expiresAt),"#
      + #""sub":\#(JSONString.quoted(subject.text))}"#
    let message = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
    do throws(TLSError) {
      let signature = try sign(Array(message.utf8))
      let token = message + "." + Base64URL.encode(signature)
      return "vapid t=\(token), k=\(applicationServerKey)"
    } catch {
      throw VAPIDProblem("the VAPID token cannot be signed", "\(error)")
    }
  }
}

/// Why there is no VAPID token.
package struct VAPIDProblem: Error, Sendable, CustomStringConvertible {
  package let message: String
  package let cause: String?

  init(_ message: String, _ cause: String? = nil) {
    self.message = message
    self.cause = cause
  }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }
}

/// Whom a push service may turn to: `mailto:` and an address, or an `https:` page (RFC 8292,
/// section 2.1). Apple refuses one that is not real, and every push with it.
package struct VAPIDSubject: Sendable, Equatable {
  package let text: String

  /// Nil for another scheme, for spaces and angle brackets, and for a domain without a dot, such as
  /// localhost.
  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count <= 256,
      bytes.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x3C && $0 != 0x3E })
    else { return nil }
    let domain: ArraySlice<UInt8>
    if bytes.starts(with: "mailto:".utf8) {
      let parts = bytes.dropFirst("mailto:".utf8.count).split(
        separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else { return nil }
      domain = parts[1]
    } else if bytes.starts(with: "https://".utf8) {
      domain = bytes.dropFirst("https://".utf8.count).prefix { !"/:?#".utf8.contains($0) }
    } else {
      return nil
    }
    let labels = domain.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard labels.count > 1, labels.last?.elementsEqual("localhost".utf8) == false,
      labels.allSatisfy({ label in
        !label.isEmpty && label.allSatisfy { $0.isASCIIWord || $0 == UInt8(ascii: "-") }
      })
    else { return nil }
    self.text = text
  }
}

/// The key pairs of an application, and its subject; others may be put in their place. Shared by
/// the accounts of all origins.
package final class VAPIDKeyRing: Sendable {
  /// Key pairs that belong together. Two are the same when they are one object.
  package final class Keys: Sendable {
    package let subject: VAPIDSubject
    package let pairs: [VAPIDKeys]

    package init(subject: VAPIDSubject, pairs: [VAPIDKeys]) {
      self.subject = subject
      self.pairs = pairs
    }
  }

  private let keys: ThreadLock<Keys>

  package init(_ keys: Keys) { self.keys = ThreadLock(keys) }

  package var current: Keys { keys.withLock { $0 } }

  /// From now on, by all lanes.
  package func use(_ other: Keys) { keys.withLock { $0 = other } }
}
