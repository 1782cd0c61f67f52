import JSON
import TLS
import Text

/// A response of the token endpoint.
struct OAuthAnswer: Equatable {
  let status: Int
  let body: String

  init(status: Int, body: String) {
    self.status = status
    self.body = body
  }

  /// RFC 6749, section 5.2.
  init(_ status: Int, _ error: String, _ description: String) {
    self.init(
      status: status,
      body: PrettyJSON.text(["error": .string(error), "error_description": .string(description)]))
  }
}

/// Issues access tokens for assertions of the service account (RFC 7523), and knows them when they
/// come back.
final class AccessTokens {
  /// Google: "exp: at most an hour after iat".
  static let longestAssertionSeconds: Int64 = 3600
  /// Google allows for clocks that differ a little.
  static let skewSeconds: Int64 = 300
  static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  static let audience = "https://oauth2.googleapis.com/token"
  /// The scopes that may send messages; any other of Google's is issued, and does not.
  static let messagingScopes = [
    "https://www.googleapis.com/auth/firebase.messaging",
    "https://www.googleapis.com/auth/cloud-platform",
  ]
  private static let scopePrefix = "https://www.googleapis.com/auth/"
  /// Google's are about so long.
  private static let tokenBytes = 1024
  private static let times: ClosedRange<Int64> = 0...253_402_300_799

  struct Issued {
    let expiresAt: Int64
    let allowsMessaging: Bool
    var isExpired = false
    var isUsed = false
  }

  private let account: ServiceAccount
  private let key: RS256PublicKey
  private var random: SplitMix64
  private var numbers: [[UInt8]: Int] = [:]
  /// In the order in which they were issued.
  var issued: [Issued] = []

  init(_ account: ServiceAccount, publicKeyPEM: String, seed: UInt64) throws(TLSError) {
    self.account = account
    key = try RS256PublicKey(pem: publicKeyPEM)
    random = SplitMix64(seed: seed)
  }

  /// The index in `issued` of the token that a field's value, `Bearer <token>`, holds.
  func find(_ authorization: UnsafeRawBufferPointer) -> Int? {
    let scheme = Array("bearer ".utf8)
    guard authorization.count > scheme.count,
      zip(authorization, scheme).allSatisfy({ $0.asciiLowered == $1 })
    else { return nil }
    return numbers[Array(authorization[scheme.count...])]
  }

  /// Answers a request for an access token.
  /// - Parameter form: the body, form-encoded.
  func exchange(_ form: [UInt8], nowSeconds: Int64, lifetimeSeconds: Int64) -> OAuthAnswer {
    guard let fields = Self.fields(form), let grantType = fields["grant_type"] else {
      return OAuthAnswer(400, "invalid_request", "Required parameter is missing: grant_type")
    }
    guard grantType == Self.grantType else {
      return OAuthAnswer(400, "unsupported_grant_type", "Invalid grant_type: \(grantType)")
    }
    guard let assertion = fields["assertion"] else {
      return OAuthAnswer(400, "invalid_request", "Required parameter is missing: assertion")
    }
    switch judge(assertion, nowSeconds: nowSeconds) {
    case .refused(let answer): return answer
    case .sound(let allowsMessaging):
      let token = makeToken()
      numbers[token] = issued.count
      issued.append(
        Issued(expiresAt: nowSeconds + lifetimeSeconds, allowsMessaging: allowsMessaging))
      return OAuthAnswer(
        status: 200,
        body: PrettyJSON.text([
          "access_token": .string(String(decoding: token, as: UTF8.self)),
          "expires_in": .integer(lifetimeSeconds), "token_type": "Bearer",
        ]))
    }
  }

  // MARK: Assertions

  enum Verdict: Equatable {
    case sound(allowsMessaging: Bool)
    case refused(OAuthAnswer)

    static func invalidGrant(_ description: String) -> Verdict {
      .refused(OAuthAnswer(400, "invalid_grant", description))
    }
  }

  func judge(_ assertion: String, nowSeconds: Int64) -> Verdict {
    let parts = Array(assertion.utf8).split(
      separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
      let signature = Base64URL.decode(parts[2])
    else { return .invalidGrant("Invalid JWT: it is not three parts of base64url and JSON") }
    guard header["alg"]?.string == "RS256" else {
      return .invalidGrant("Invalid JWT: the algorithm must be RS256")
    }
    guard claims["iss"]?.string == account.email else {
      return .invalidGrant("Invalid grant: account not found")
    }
    let message = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
    if let keyID = header["kid"], keyID.string != account.keyID {
      return .invalidGrant("Invalid JWT Signature.")
    }
    guard key.verify(message, signature: signature) else {
      return .invalidGrant("Invalid JWT Signature.")
    }
    guard claims["aud"]?.string == Self.audience else {
      return .invalidGrant("Invalid JWT: Failed audience check.")
    }
    guard let issuedAt = claims["iat"]?.integer, let expiresAt = claims["exp"]?.integer,
      Self.times.contains(issuedAt), Self.times.contains(expiresAt),
      expiresAt > issuedAt, expiresAt - issuedAt <= Self.longestAssertionSeconds,
      issuedAt <= nowSeconds + Self.skewSeconds, expiresAt > nowSeconds - Self.skewSeconds
    else {
      return .invalidGrant(
        "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable "
          + "timeframe. Check your iat and exp values in the JWT claim.")
    }
    return Self.judge(scope: claims["scope"]?.string ?? "")
  }

  private static func judge(scope: String) -> Verdict {
    let scopes = scope.split(separator: " ").map(String.init)
    guard !scopes.isEmpty else {
      return .refused(
        OAuthAnswer(400, "invalid_scope", "Empty or missing scope not allowed."))
    }
    guard scopes.allSatisfy({ $0.hasPrefix(scopePrefix) }) else {
      return .refused(
        OAuthAnswer(400, "invalid_scope", "Invalid OAuth scope or ID token audience provided."))
    }
    return .sound(allowsMessaging: scopes.contains(where: messagingScopes.contains))
  }

  private static func object(_ part: ArraySlice<UInt8>) -> JSONObject? {
    guard let bytes = Base64URL.decode(part) else { return nil }
    return (try? JSONValue.parse(bytes, maximumDepth: 4))?.object
  }

  /// Nil for what is no form, and for a name that is there twice (RFC 6749, section 3.2).
  private static func fields(_ form: [UInt8]) -> [String: String]? {
    var fields: [String: String] = [:]
    for pair in form.split(separator: UInt8(ascii: "&")) {
      let sides = pair.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2, let name = decoded(sides[0]), let value = decoded(sides[1]),
        fields.updateValue(value, forKey: name) == nil
      else { return nil }
    }
    return fields
  }

  private static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
    let plain = bytes.withUnsafeBytes { PercentText.decoded($0, isStrict: true, isForm: true) }
    return plain.flatMap { String(validating: $0, as: UTF8.self) }
  }

  private func makeToken() -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < Self.tokenBytes * 3 / 4 {
      withUnsafeBytes(of: random.next().littleEndian) { bytes += $0 }
    }
    return Array(("ya29.c." + Base64URL.encode(bytes)).utf8.prefix(Self.tokenBytes))
  }
}
