import JSON
import Text

/// A Google service account, as the file of its key describes it. It gets access tokens by an
/// assertion that its key signs (RFC 7523, section 2.1; Google, "Using OAuth 2.0 for server to
/// server applications").
package struct ServiceAccount: Sendable {
  /// Signs as JSON Web Tokens ask for RS256.
  package typealias Sign = @Sendable ([UInt8]) throws -> [UInt8]

  package let projectID: String
  package let keyID: String
  package let email: String
  /// Where assertions become access tokens.
  package let tokenURL: String
  private let sign: Sign

  /// More than ten times what such a file holds.
  package static let maximumBytes = 32_768
  /// All that sending takes.
  static let scope = "https://www.googleapis.com/auth/firebase.messaging"
  /// Google's own name for the server, whatever the file's `token_uri` is.
  static let audience = "https://oauth2.googleapis.com/token"
  /// The longest that Google takes, in seconds.
  static let lifetime: Int64 = 3600

  /// - Parameters:
  ///   - file: the JSON that Google hands out for a key of a service account.
  ///   - makeSigner: of the private key in it: PEM, PKCS#8.
  package init(
    file: [UInt8], makeSigner: (_ pem: String) throws -> Sign
  ) throws(ServiceAccountError) {
    let value: JSONValue
    do {
      value = try JSONValue.parse(file, maximumBytes: Self.maximumBytes, maximumDepth: 4)
    } catch {
      // Its words may quote the file, and the file holds a key.
      throw ServiceAccountError(
        "the file is no JSON (line \(error.line), column \(error.column)): download it again")
    }
    guard let members = value.object else {
      throw ServiceAccountError("the file holds \(value.kindName), and no service account")
    }
    func text(_ name: String) throws(ServiceAccountError) -> String {
      guard let text = members[name]?.string, !text.isEmpty else {
        throw ServiceAccountError("\(name) is missing, or no text")
      }
      return text
    }
    let type = try text("type")
    guard type == "service_account" else {
      throw ServiceAccountError(
        "type is \(JSONString.quoted(String(type.prefix(40)))), and must be service_account"
      )
    }
    projectID = try text("project_id")
    guard FCMProject.isID(projectID) else {
      throw ServiceAccountError("project_id is no id of a project")
    }
    keyID = try text("private_key_id")
    email = try text("client_email")
    tokenURL = try text("token_uri")
    guard Self.isSafe(tokenURL) else {
      throw ServiceAccountError("token_uri is no https:// address")
    }
    let pem = try text("private_key")
    do {
      sign = try makeSigner(pem)
    } catch {
      throw ServiceAccountError("private_key: \(error)")
    }
  }

  /// Tests have servers on their own machine.
  private static func isSafe(_ url: String) -> Bool {
    let local = ["http://127.0.0.1:", "http://[::1]:", "http://localhost:"]
    return (["https://"] + local).contains { url.hasPrefix($0) && url.count > $0.count }
      && url.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// The form that gets an access token.
  /// - Parameter now: ms since 1970.
  func tokenRequest(now: Int64) throws(ServiceAccountError) -> TokenRequest {
    let form =
      "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
      + (try assertion(now: now))
    return .http(
      TokenRequest.HTTP(
        method: "POST", url: tokenURL,
        fields: [.init("content-type", "application/x-www-form-urlencoded")],
        body: Array(form.utf8)))
  }

  /// RFC 7523, section 3; RFC 7515, section 7.1.
  func assertion(now: Int64) throws(ServiceAccountError) -> String {
    let issuedAt = now / 1000
    let header = JSONObject([("alg", "RS256"), ("typ", "JWT"), ("kid", .string(keyID))])
    let claims = JSONObject([
      ("iss", .string(email)), ("scope", .string(Self.scope)), ("aud", .string(Self.audience)),
      ("iat", .integer(issuedAt)), ("exp", .integer(issuedAt + Self.lifetime)),
    ])
    let message = [header, claims].map { Base64URL.encode(JSONText.bytes(.object($0))) }
      .joined(separator: ".")
    do {
      return message + "." + Base64URL.encode(try sign(Array(message.utf8)))
    } catch {
      throw ServiceAccountError("the key of \(email) does not sign: \(error)")
    }
  }
}

/// Why a file is no service account, or cannot be used. Its words hold no secret.
package struct ServiceAccountError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}
