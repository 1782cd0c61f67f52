import Fixtures
import JSON
import TLS
import Testing
import Text

@testable import FCM

@Suite struct ServiceAccountTests {
  private static let members: [(String, JSONValue)] = [
    ("type", "service_account"), ("project_id", "p-1"), ("private_key_id", "kid-1"),
    ("private_key", .string(SampleRSAKey.pem)),
    ("client_email", "push@p-1.iam.gserviceaccount.com"), ("client_id", "1"),
    ("token_uri", "https://oauth2.googleapis.com/token"), ("universe_domain", "googleapis.com"),
  ]

  static func file(_ changes: [String: JSONValue?] = [:]) -> [UInt8] {
    var object = JSONObject(members)
    for (name, value) in changes { object[name] = value }
    return JSONText.bytes(.object(object))
  }

  private static func account(_ file: [UInt8]) throws(ServiceAccountError) -> ServiceAccount {
    try ServiceAccount(file: file) { pem in
      let key = try RS256Key(pem: pem)
      return { try key.sign($0) }
    }
  }

  @Test func readsGooglesFile() throws {
    let account = try Self.account(Self.file())
    #expect(account.projectID == "p-1" && account.keyID == "kid-1")
    #expect(account.email == "push@p-1.iam.gserviceaccount.com")
    #expect(account.tokenURL == "https://oauth2.googleapis.com/token")
  }

  @Test(
    arguments: [
      ("type", .some("authorized_user"), #"type is "authorized_user""#),
      ("type", nil, "type is missing"),
      ("project_id", nil, "project_id is missing"),
      ("project_id", "", "project_id is missing"),
      ("project_id", "a/b", "project_id is no id"),
      ("project_id", "a b", "project_id is no id"),
      ("private_key_id", .some(7), "private_key_id is missing, or no text"),
      ("client_email", nil, "client_email is missing"),
      ("token_uri", nil, "token_uri is missing"),
      ("token_uri", "http://oauth2.googleapis.com/token", "token_uri is no https://"),
      ("token_uri", "https://", "token_uri is no https://"),
      ("token_uri", "https://a\r\nb", "token_uri is no https://"),
      ("private_key", nil, "private_key is missing"),
      ("private_key", "secret", "private_key: this is no private key"),
    ] as [(String, JSONValue?, String)])
  func refusesWhatIsMissingOrWrong(name: String, value: JSONValue?, words: String) {
    let file = Self.file([name: value])
    let error = #expect(throws: ServiceAccountError.self) { try Self.account(file) }
    #expect(error?.description.contains(words) == true)
    #expect(error?.description.contains("secret") == false)
  }

  @Test func refusesWhatIsNoJSONWithoutAWordOfIt() {
    for text in [#"{"private_key": "secret" "x"}"#, "[]", "", "7"] {
      let error = #expect(throws: ServiceAccountError.self) {
        try Self.account(Array(text.utf8))
      }
      #expect(error?.description.contains("secret") == false)
    }
    let large = Self.file(["x": .string(String(repeating: "x", count: 40_000))])
    #expect(throws: ServiceAccountError.self) { try Self.account(large) }
  }

  @Test func aServerOnThisMachineNeedsNoTLS() throws {
    let file = Self.file(["token_uri": "http://127.0.0.1:8080/token"])
    #expect(try Self.account(file).tokenURL == "http://127.0.0.1:8080/token")
  }

  /// The expected text was made with Python's `cryptography`, and PyJWT verifies it.
  @Test func signsTheAssertionThatGoogleAsksFor() throws {
    let account = try Self.account(Self.file())
    let assertion = try account.assertion(now: 1_700_000_000_999)
    #expect(assertion == Self.signed)
    let parts = assertion.split(separator: ".").prefix(2).map { part in
      Base64URL.decode(part.utf8).map { String(decoding: $0, as: UTF8.self) }
    }
    #expect(parts[0] == #"{"alg":"RS256","typ":"JWT","kid":"kid-1"}"#)
    #expect(
      parts[1] == #"{"iss":"push@p-1.iam.gserviceaccount.com","#
        + #""scope":"https://www.googleapis.com/auth/firebase.messaging","#
        + #""aud":"https://oauth2.googleapis.com/token","iat":1700000000,"exp":1700003600}"#)
  }

  private static let signed =
    "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImtpZC0xIn0.eyJpc3MiOiJwdXNoQHAtMS5pYW0uZ3"
    + "NlcnZpY2VhY2NvdW50LmNvbSIsInNjb3BlIjoiaHR0cHM6Ly93d3cuZ29vZ2xlYXBpcy5jb20vYXV0aC9maXJl"
    + "YmFzZS5tZXNzYWdpbmciLCJhdWQiOiJodHRwczovL29hdXRoMi5nb29nbGVhcGlzLmNvbS90b2tlbiIsImlhdC"
    + "I6MTcwMDAwMDAwMCwiZXhwIjoxNzAwMDAzNjAwfQ.PLZfnN3vKrLOyoYlvoDCCk__ET8PNw4k6qW9cWj5Zs4t3"
    + "N3F3sor_cqqk2REJVDFOvPwi4xMeV3DSkh9Ze34UkWlfmaBfMiMJKbZzUh-dThpwlh9qDojPeKdybqX-x-ewK2"
    + "O1FeND2S6J5UUPWoaPMn-spXtaNGQW9BYInWzjmOrEV_Ymyc7cZGkk85_7x5cpfUNv6vpCbBDbXccERT9WkkIV"
    + "yANNkKzJbe3l_5nlG24HI41Rkwl-qEDTgQmn62MT-rgxeHbDm8rEdjqzj15M71QJADzotBXV40z_7aUX9iFaZy"
    + "rk6B8balLoYdZi7hOjdY7skevIa5qZ0IV5pwzoA"

  @Test func sendsTheAssertionAsAForm() throws {
    let account = try Self.account(Self.file(["token_uri": "https://t.example/x"]))
    guard case .http(let request) = try TokenOrigin.account(account).request(now: 1_700_000_000_000)
    else {
      Issue.record("no request over HTTP")
      return
    }
    #expect(request.method == "POST" && request.url == "https://t.example/x")
    #expect(request.fields == [.init("content-type", "application/x-www-form-urlencoded")])
    let body = String(decoding: request.body, as: UTF8.self)
    #expect(
      body == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        + Self.signed)
  }

  @Test func otherOriginsAskInTheirOwnWays() throws {
    guard case .http(let token) = try TokenOrigin.metadata(host: "m.internal:80").request(now: 0)
    else {
      Issue.record("no request over HTTP")
      return
    }
    let base = "http://m.internal:80/computeMetadata/v1/"
    #expect(token.url == base + "instance/service-accounts/default/token")
    let project = TokenRequest.HTTP.projectID(of: "m.internal:80")
    #expect(project.url == base + "project/project-id")
    for question in [token, project] {
      #expect(question.method == "GET" && question.body.isEmpty && question.isForMetadata)
      #expect(question.fields == [.init("metadata-flavor", "Google")])
    }
    #expect(try TokenOrigin.file(path: "/run/t").request(now: 0) == .file(path: "/run/t"))
    #expect(try TokenOrigin.command(["a", "b"]).request(now: 0) == .command(["a", "b"]))
  }
}
