import JSON
import TLS
import Text

/// Judges provider tokens ("Establishing a token-based connection to APNs"): ES256 with a key and
/// team that are known here. Verified once for each distinct token.
final class ProviderTokens {
  /// Apple: a token older than an hour is refused.
  static let maximumAgeSeconds: Int64 = 3600
  /// Ours, since Apple does not say: clocks differ a little, but not more.
  static let maximumSkewSeconds: Int64 = 600
  /// 1970 to 9999. No arithmetic on what a client says may overflow.
  private static let times: ClosedRange<Int64> = 0...253_402_300_799
  /// Far over what workers use; beyond it all are forgotten and judged again.
  private static let maximumKnown = 256
  private static let maximumBytes = 4096

  private struct Key {
    let keyID: String
    let teamID: String
    let publicKey: ES256PublicKey
    let topics: [[UInt8]]
  }

  private let keys: [Key]
  private var known: [[UInt8]: CheckedProviderToken] = [:]
  /// Different ones that were sound, since the beginning.
  private(set) var soundCount = 0

  init(_ keys: [APNsSimulatorOptions.ProviderKey]) throws(TLSError) {
    var loaded: [Key] = []
    for key in keys {
      let publicKey = try ES256PublicKey(pem: key.publicKeyPEM)
      loaded.append(
        Key(
          keyID: key.keyID, teamID: key.teamID, publicKey: publicKey,
          topics: key.topics.map { Array($0.utf8) }))
    }
    self.keys = loaded
  }

  /// - Parameter authorization: the field's value, `bearer <token>`.
  func check(_ authorization: UnsafeRawBufferPointer) -> CheckedProviderToken {
    let text = Array(authorization)
    if let checked = known[text] { return checked }
    let checked = judge(text)
    if known.count >= Self.maximumKnown { known.removeAll() }
    known[text] = checked
    return checked
  }

  private func judge(_ text: [UInt8]) -> CheckedProviderToken {
    let invalid = CheckedProviderToken(text, flaw: .invalidProviderToken, issuedAt: 0)
    let scheme = Array("bearer ".utf8)
    guard text.count > scheme.count, text.count <= Self.maximumBytes,
      zip(text, scheme).allSatisfy({ $0 | 0x20 == $1 || $0 == $1 })
    else { return CheckedProviderToken(text, flaw: .missingProviderToken, issuedAt: 0) }
    let parts = text[scheme.count...].split(
      separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = object(parts[0]), let claims = object(parts[1]),
      let signature = Base64URL.decode(parts[2])
    else { return invalid }
    guard header["alg"]?.string == "ES256", let keyID = header["kid"]?.string,
      let issuer = claims["iss"]?.string, let issuedAt = claims["iat"]?.integer,
      Self.times.contains(issuedAt),
      let key = keys.first(where: { $0.keyID == keyID && $0.teamID == issuer })
    else { return invalid }
    let message = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
    guard key.publicKey.verify(message, signature: signature) else { return invalid }
    soundCount += 1
    return CheckedProviderToken(
      text, flaw: nil, issuedAt: issuedAt, teamID: key.teamID, topics: key.topics)
  }

  private func object(_ part: ArraySlice<UInt8>) -> JSONObject? {
    guard let bytes = Base64URL.decode(part) else { return nil }
    return (try? JSONValue.parse(bytes, maximumDepth: 4))?.object
  }
}

extension UnsafeRawBufferPointer {
  func elementsEqualBytes(_ other: [UInt8]) -> Bool {
    guard count == other.count else { return false }
    return other.withUnsafeBytes { other in
      guard let mine = baseAddress, let theirs = other.baseAddress else { return count == 0 }
      return compareBytes(mine, theirs, count)
    }
  }
}
