import Testing

@testable import FCM

@Suite struct TokenGrantTests {
  /// 2026-11-21T08:00:00Z
  private static let now: Int64 = 1_795_248_000_000

  private static func answer(_ status: Int, _ body: String) -> TokenGrant {
    TokenGrant(
      .answer(status: status, body: Array(body.utf8), retryAfter: .seconds(7)), now: now)
  }

  @Test(
    arguments: [
      (
        #"{"access_token":"ya29.c-_~+/=","token_type":"Bearer","expires_in":3599,"x":[]}"#,
        .token("ya29.c-_~+/=", lifetime: .seconds(3599))
      ),
      (
        #"{"access_token":"a","token_type":"bearer","expires_in":3600.0}"#,
        .token("a", lifetime: .seconds(3600))
      ),
      (#"{"access_token":"a"}"#, .token("a", lifetime: nil)),
      // No token is trusted longer than half a day.
      (#"{"access_token":"a","expires_in":99999999}"#, .token("a", lifetime: .seconds(43_200))),
      (
        #"{"access_token":"a","expiry":"2026-11-21T08:59:00.5Z"}"#,
        .token("a", lifetime: .milliseconds(3_540_500))
      ),
      (
        #"{"access_token":"a","expires_in":60,"expiry":"2026-11-21T08:59:00Z"}"#,
        .token("a", lifetime: .seconds(60))
      ),
      (#"{"access_token":"a","expiry":"soon"}"#, .token("a", lifetime: nil)),
      (
        #"{"access_token":"a","expiry":"2026-11-21T07:59:59Z"}"#,
        .failed("the token has expired already")
      ),
      (#"{"access_token":"a","expires_in":0}"#, .failed("the token has expired already")),
      (#"{"id_token":"a"}"#, .refused("the reply holds no access_token")),
      (
        #"{"access_token":"a","token_type":"MAC"}"#,
        .refused("the token is of type MAC, and FCM takes bearer tokens")
      ),
      (#"{"access_token":"a\r\nb: c"}"#, .failed("what came is no access token")),
      (#"{"access_token":""}"#, .failed("what came is no access token")),
      ("<html>", .failed("the reply is no JSON object")),
      ("", .failed("the reply is no JSON object")),
    ] as [(String, TokenGrant)])
  func readsAReply(body: String, grant: TokenGrant) {
    #expect(Self.answer(200, body) == grant)
  }

  @Test func readsNoReplyOfMoreThan64KiB() {
    let pad = String(repeating: " ", count: 65_536 - 20)
    #expect(Self.answer(200, #"{"access_token":"a"}"# + pad) == .token("a", lifetime: nil))
    #expect(
      Self.answer(200, #"{"access_token":"a"}"# + pad + " ")
        == .failed("the reply is no JSON object"))
  }

  @Test(arguments: [
    "invalid_grant", "invalid_scope", "invalid_client", "invalid_request", "unauthorized_client",
    "unsupported_grant_type",
  ])
  func someErrorsNeedAPerson(code: String) {
    let body = #"{"error":"\#(code)","error_description":"Invalid\nJWT Signature."}"#
    #expect(Self.answer(400, body) == .refused("\(code): InvalidJWT Signature."))
    #expect(Self.answer(401, body) == .refused("\(code): InvalidJWT Signature."))
    #expect(
      Self.answer(503, body)
        == .failed("\(code): InvalidJWT Signature.", retryAfter: .seconds(7)))
  }

  @Test(
    arguments: [
      (400, #"{"error":"internal_failure"}"#, "internal_failure"),
      (500, #"{"error":"server_error"}"#, "server_error"),
      (503, #"{"error":"temporarily_unavailable"}"#, "temporarily_unavailable"),
      (404, "Not Found", "status 404"), (502, "<html>", "status 502"), (403, "", "status 403"),
      (400, #"{"error":{"code":400}}"#, "status 400"),
    ])
  func otherErrorsPass(status: Int, body: String, words: String) {
    #expect(Self.answer(status, body) == .failed(words, retryAfter: .seconds(7)))
  }

  /// Of a file, or printed by a program.
  @Test(
    arguments: [
      ("ya29.abc\n", .token("ya29.abc", lifetime: nil)),
      (" \n\tya29.abc\r\n\n", .token("ya29.abc", lifetime: nil)),
      (
        #" {"access_token":"a","expires_in":60}"# + "\n", .token("a", lifetime: .seconds(60))
      ),
      ("", .failed("what came is no access token")),
      (" \n", .failed("what came is no access token")),
      ("two words", .failed("what came is no access token")),
      ("ERROR: (gcloud) no account", .failed("what came is no access token")),
    ] as [(String, TokenGrant)])
  func readsAText(text: String, grant: TokenGrant) {
    #expect(TokenGrant(.text(Array(text.utf8)), now: Self.now) == grant)
  }

  @Test func noReplyIsAFailure() {
    let grant = TokenGrant(.failure("connect: timed out"), now: Self.now)
    #expect(grant == .failed("connect: timed out"))
  }
}
