import JSON
import SingleRequests
import TLS
import Text

/// A service account as its file names it, and assertions of it (RFC 7523).
package struct AssertedAccount: Sendable {
  static let messaging = "https://www.googleapis.com/auth/firebase.messaging"
  static let wide = "https://www.googleapis.com/auth/cloud-platform"
  static let other = "https://www.googleapis.com/auth/datastore"

  let projectID: String
  private let email: String
  private let keyID: String
  private let key: RS256Key

  /// - Parameter file: the content of the JSON file.
  package init(file: [UInt8]) throws {
    let members = try JSONValue.parse(file).object
    projectID = members?["project_id"]?.string ?? ""
    email = members?["client_email"]?.string ?? ""
    keyID = members?["private_key_id"]?.string ?? ""
    key = try RS256Key(pem: members?["private_key"]?.string ?? "")
  }

  /// - Parameters:
  ///   - claims: in the place of the usual ones; null: the claim is not there.
  ///   - signer: nil: the account's key signs. An assertion that nobody could sign is empty.
  func assertion(
    _ nowSeconds: Int64, _ claims: [String: JSONValue] = [:], algorithm: String = "RS256",
    keyID other: String? = nil, signer: RS256Key? = nil
  ) -> String {
    let usual: [(String, JSONValue)] = [
      ("iss", .string(email)), ("scope", .string(Self.messaging)),
      ("aud", "https://oauth2.googleapis.com/token"), ("iat", .integer(nowSeconds)),
      ("exp", .integer(nowSeconds + 3600)),
    ]
    let members = usual.map { ($0.0, claims[$0.0] ?? $0.1) }.filter { $0.1 != .null }
    let header: JSONValue = [
      "alg": .string(algorithm), "typ": "JWT", "kid": .string(other ?? keyID),
    ]
    let message =
      Base64URL.encode(JSONText.bytes(header)) + "."
      + Base64URL.encode(JSONText.bytes(.object(JSONObject(members))))
    guard let signature = try? (signer ?? key).sign(Array(message.utf8)) else { return "" }
    return "\(message).\(Base64URL.encode(signature))"
  }
}

/// The rules of Google's token endpoint ("Using OAuth 2.0 for server to server applications"), a
/// row for each side of each.
package enum AccessTokenConformance {
  private static let grantType = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"

  static func exchange(_ assertion: String) -> AppleRequest {
    form("grant_type=\(grantType)&assertion=\(assertion)")
  }

  private static func form(
    _ body: String, method: String = "POST", type: String = "application/x-www-form-urlencoded"
  ) -> AppleRequest {
    AppleRequest(
      method: method, path: "/token", fields: [.init("content-type", type)], body: body)
  }

  /// - Parameters:
  ///   - stranger: a key that is not the account's.
  ///   - nowSeconds: since 1970.
  package static func rows(
    _ account: AssertedAccount, stranger: RS256Key, nowSeconds now: Int64
  ) -> [FCMConformanceRow] {
    let sound = account.assertion(now)
    func row(_ rule: String, _ answer: String, _ request: AppleRequest) -> FCMConformanceRow {
      FCMConformanceRow(
        rule, request, answer, credential: .absent,
        carries: answer == "200" ? .accessToken : .nothing)
    }
    return [
      row("an assertion gets an access token", "200", exchange(sound)),
      row(
        "the grant type is jwt-bearer", "400 unsupported_grant_type",
        form("grant_type=password&assertion=\(sound)")),
      row("a grant type is needed", "400 invalid_request", form("assertion=\(sound)")),
      row("an assertion is needed", "400 invalid_request", form("grant_type=\(grantType)")),
      row(
        "no parameter comes twice", "400 invalid_request",
        form("grant_type=\(grantType)&assertion=\(sound)&assertion=\(sound)")),
      row(
        "the body is a form", "400 invalid_request",
        form("grant_type=\(grantType)&assertion=\(sound)", type: "application/json")),
      row("the method is POST", "404", form("", method: "GET")),
      row("an assertion is a JSON web token", "400 invalid_grant", exchange("a.b.c")),
      row(
        "it is signed by the key", "400 invalid_grant",
        exchange(account.assertion(now, signer: stranger))),
      row(
        "its header names the key", "400 invalid_grant",
        exchange(account.assertion(now, keyID: "another"))),
      row(
        "its algorithm is RS256", "400 invalid_grant",
        exchange(account.assertion(now, algorithm: "none"))),
    ] + claims(account, now).map { row($0.rule, $0.answer, exchange($0.assertion)) }
  }

  private static func claims(
    _ account: AssertedAccount, _ now: Int64
  ) -> [(rule: String, answer: String, assertion: String)] {
    func with(_ claims: [String: JSONValue]) -> String { account.assertion(now, claims) }
    func time(_ issued: Int64, _ expires: Int64) -> String {
      with(["iat": .integer(now + issued), "exp": .integer(now + expires)])
    }
    let both: JSONValue = .string("\(AssertedAccount.other) \(AssertedAccount.messaging)")
    return [
      ("its issuer is the account", "400 invalid_grant", with(["iss": "a@example.com"])),
      ("an issuer is needed", "400 invalid_grant", with(["iss": .null])),
      (
        "its audience is Google's endpoint", "400 invalid_grant",
        with(["aud": "https://localhost/token"])
      ),
      ("it lasts an hour at most", "400 invalid_grant", time(0, 3601)),
      ("it may last a minute", "200", time(0, 60)),
      ("it ends after it begins", "400 invalid_grant", time(0, 0)),
      ("it has not ended", "400 invalid_grant", time(-7200, -3600)),
      ("it is not of the future", "400 invalid_grant", time(3600, 7200)),
      ("clocks may differ by some seconds", "200", time(60, 3600)),
      ("an end is needed", "400 invalid_grant", with(["exp": .null])),
      ("a scope is needed", "400 invalid_scope", with(["scope": .null])),
      ("a scope is one of Google's", "400 invalid_scope", with(["scope": "messaging"])),
      ("scopes may be several", "200", with(["scope": both])),
    ]
  }
}
