import JSON
import TLS
import Text

/// Reads and verifies the VAPID tokens that requests come with (RFC 8292). "Reuse the token": those
/// that were verified are remembered, 1,024 at most. Confined to the simulator's loop.
final class VAPIDTokens {
  /// RFC 8292, section 2.
  static let longestSeconds: Int64 = 24 * 3600
  private static let mostKept = 1024
  private static let scheme = Array("vapid ".utf8)

  /// A token whose signature is right.
  struct Verified {
    /// 65 bytes.
    let key: [UInt8]
    let audiences: [String]
    let expiresAt: Int64
    let subject: String?
  }

  private var kept: [[UInt8]: Verified] = [:]
  private let checksSignatures: Bool
  /// Signatures that were verified: what a sender that signs each push costs.
  private(set) var verifications = 0

  init(checksSignatures: Bool = true) { self.checksSignatures = checksSignatures }

  /// Judges the value of `authorization`.
  /// - Returns: the key that signed the token.
  func judge(
    _ authorization: [UInt8], origin: String, _ dialect: ServiceDialect, nowSeconds: Int64
  ) throws(WebPushRefusal) -> [UInt8] {
    let token = try find(authorization)
    guard token.audiences.contains(origin) else {
      throw WebPushRefusal(.badToken, "the claim aud is not the origin \(origin)")
    }
    guard token.expiresAt > nowSeconds else {
      throw WebPushRefusal(.badToken, "the token has expired")
    }
    guard token.expiresAt - nowSeconds <= Self.longestSeconds else {
      throw WebPushRefusal(.badToken, "the token expires in more than 24 hours")
    }
    if dialect == .apple, !Self.isReal(token.subject ?? "") {
      throw WebPushRefusal(.badToken, "the claim sub names nobody who can be reached")
    }
    return token.key
  }

  private func find(_ authorization: [UInt8]) throws(WebPushRefusal) -> Verified {
    if let known = kept[authorization] { return known }
    let (token, key) = try Self.parameters(authorization)
    let verified = try verify(token, key)
    if kept.count >= Self.mostKept { kept.removeAll() }
    kept[authorization] = verified
    return verified
  }

  /// `vapid t=<token>, k=<key>` (RFC 8292, section 3), in any order.
  private static func parameters(
    _ authorization: [UInt8]
  ) throws(WebPushRefusal) -> (token: ArraySlice<UInt8>, key: [UInt8]) {
    guard authorization.count > scheme.count,
      zip(authorization, scheme).allSatisfy({ $0.asciiLowered == $1 })
    else { throw WebPushRefusal(.badAuthorization, "the scheme is not vapid") }
    var token: ArraySlice<UInt8>?
    var key: ArraySlice<UInt8>?
    for part in authorization[scheme.count...].split(separator: UInt8(ascii: ",")) {
      let parameter = part.drop { $0 == UInt8(ascii: " ") }
      let value = parameter.dropFirst(2)
      if parameter.starts(with: "t=".utf8), token == nil {
        token = value
      } else if parameter.starts(with: "k=".utf8), key == nil {
        key = value
      } else {
        throw WebPushRefusal(.badAuthorization, "vapid takes t and k, once each")
      }
    }
    guard let token, let key else {
      throw WebPushRefusal(.badAuthorization, "vapid needs t and k")
    }
    guard let point = Base64URL.decode(key), P256KeyPair.isPoint(point) else {
      throw WebPushRefusal(.badKey, "k is not a point of P-256 in base64url")
    }
    return (token, point)
  }

  /// RFC 7515 and RFC 7519: three parts, ES256, and the claims.
  private func verify(
    _ token: ArraySlice<UInt8>, _ key: [UInt8]
  ) throws(WebPushRefusal) -> Verified {
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
      let signature = Base64URL.decode(parts[2])
    else { throw WebPushRefusal(.badToken, "the token is not three parts of base64url and JSON") }
    guard header["alg"]?.string == "ES256" else {
      throw WebPushRefusal(.badToken, "the token's algorithm is not ES256")
    }
    verifications += 1
    let message = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
    guard let publicKey = try? ES256PublicKey(point: key),
      !checksSignatures || publicKey.verify(message, signature: signature)
    else { throw WebPushRefusal(.badToken, "the token's signature is wrong") }
    guard let expiresAt = claims["exp"]?.integer, (0...253_402_300_799).contains(expiresAt) else {
      throw WebPushRefusal(.badToken, "the claim exp is not a whole number of seconds")
    }
    let subject = claims["sub"]
    guard subject == nil || subject?.string != nil else {
      throw WebPushRefusal(.badToken, "the claim sub is not a text")
    }
    let audiences = claims["aud"]?.array?.compactMap(\.string) ?? []
    return Verified(
      key: key, audiences: claims["aud"]?.string.map { [$0] } ?? audiences, expiresAt: expiresAt,
      subject: subject?.string)
  }

  private static func object(_ part: ArraySlice<UInt8>) -> JSONObject? {
    guard let bytes = Base64URL.decode(part) else { return nil }
    return (try? JSONValue.parse(bytes, maximumBytes: 4096, maximumDepth: 4))?.object
  }

  /// Apple's rule for `sub`, as senders have found it (web-push #947, pywebpush #175, sygnal #338):
  /// `mailto:` or `https:`, a domain with a dot that is not localhost, no space and no angle
  /// bracket.
  static func isReal(_ subject: String) -> Bool {
    guard subject.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x3C && $0 != 0x3E }) else {
      return false
    }
    let domain: Substring
    if subject.hasPrefix("mailto:") {
      let parts = subject.dropFirst("mailto:".count).split(
        separator: "@", omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else { return false }
      domain = parts[1]
    } else if subject.hasPrefix("https://") {
      domain = subject.dropFirst("https://".count).prefix { !"/:?#".contains($0) }
    } else {
      return false
    }
    let labels = domain.split(separator: ".", omittingEmptySubsequences: false)
    return labels.count > 1 && !labels.contains("") && labels.last != "localhost"
  }
}
