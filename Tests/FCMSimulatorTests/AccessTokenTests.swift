import FCMSimulator
import JSON
import TLS
import Telemetry
import Testing
import Threads

@Suite struct AccessTokenTests {
  private func error(_ reply: Reply) -> String {
    let name = (try? JSONValue.parse(reply.body))?.object?["error"]?.string
    return "\(reply.status) \(name ?? "-")"
  }

  @Test func anAssertionOfTheAccountIsWorthAToken() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let reply = try await client.send(.assertion(try bench.account.assertion()))
      let object = try #require(try JSONValue.parse(reply.body).object)
      #expect(reply.status == 200)
      #expect(object["token_type"] == "Bearer" && object["expires_in"] == 3599)
      #expect(object["access_token"]?.string?.utf8.count == 1024)
      let address = bench.address
      #expect(
        bench.account.members["token_uri"]?.string
          == "https://\(address.host):\(address.port)/token")
      #expect(bench.account.members["project_id"]?.string == "simulated-project")
      let other = try await bench.authorize(client)
      #expect(!other.hasSuffix(object["access_token"]?.string ?? ""))
      let summary = await bench.simulator.summary()
      #expect(summary.tokenRequests == 2 && summary.accessTokensIssued == 2)
      #expect(summary.accessTokensUsed == 0 && summary.tokenRefusals == 0)
    }
  }

  @Test func badAssertionsAreRefused() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let account = bench.account
      let stranger = try RS256Key(pem: RS256KeyPair.generate().privateKeyPEM)
      let now = WallClock.nowMicroseconds() / 1_000_000
      let cases: [(String, String)] = [
        ("a.b", "invalid_grant"), ("a.b.c", "invalid_grant"),
        (try account.assertion() + "x", "invalid_grant"),
        (try account.assertion(key: stranger), "invalid_grant"),
        (try account.assertion(header: #"{"alg":"none"}"#), "invalid_grant"),
        (try account.assertion(header: #"{"alg":"RS256","kid":"other"}"#), "invalid_grant"),
        (try account.assertion { $0["iss"] = "stranger@example.com" }, "invalid_grant"),
        (try account.assertion { $0["aud"] = "https://example.com" }, "invalid_grant"),
        (try account.assertion { $0["exp"] = .integer(now + 3700) }, "invalid_grant"),
        (try account.assertion { $0["exp"] = nil }, "invalid_grant"),
        (try account.assertion(now: now + 400), "invalid_grant"),
        (try account.assertion(now: now - 4000), "invalid_grant"),
        (try account.assertion(now: .max / 2), "invalid_grant"),
        (try account.assertion { $0["scope"] = nil }, "invalid_scope"),
        (try account.assertion { $0["scope"] = "firebase.messaging" }, "invalid_scope"),
      ]
      for (index, (assertion, expected)) in cases.enumerated() {
        let reply = try await client.send(.assertion(assertion))
        #expect(self.error(reply) == "400 \(expected)", "case \(index)")
      }
      let early = try await client.send(.assertion(try account.assertion(now: now + 200)))
      #expect(early.status == 200)
      let summary = await bench.simulator.summary()
      #expect(summary.tokenRefusals == cases.count && summary.accessTokensIssued == 1)
    }
  }

  @Test func badFormsAreRefused() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      var request = Request.assertion(try bench.account.assertion())
      request.contentType = "text/plain"
      #expect(self.error(try await client.send(request)) == "400 invalid_request")
      request = .assertion("x")
      request.body = Array("assertion=x".utf8)
      #expect(self.error(try await client.send(request)) == "400 invalid_request")
      request.body = Array("grant_type=password&assertion=x".utf8)
      #expect(self.error(try await client.send(request)) == "400 unsupported_grant_type")
      request.body = Array("grant_type=%zz".utf8)
      #expect(self.error(try await client.send(request)) == "400 invalid_request")
    }
  }

  @Test func theScriptSpoilsTheEndpoint() async throws {
    let steps = OAuthFault.allCases.filter { $0 != .silence }.map {
      FCMSimulatorScript.Step($0, times: 1)
    }
    try await withSimulator(scripted { $0.tokenAnswers = steps }) { _, bench in
      let client = try await bench.connect()
      var seen: [String] = []
      var lengths: [Int] = []
      for _ in 0...steps.count {
        let reply = try await client.send(.assertion(try bench.account.assertion()))
        seen.append(self.error(reply))
        lengths.append(reply.body.count)
      }
      #expect(
        seen == [
          "400 invalid_grant", "400 invalid_scope", "401 invalid_client", "500 internal_failure",
          "503 temporarily_unavailable", "200 -", "200 -", "200 -",
        ])
      #expect(lengths[6] > 16 << 10)
      #expect(await bench.simulator.summary().accessTokensIssued == 1)
      var script = FCMSimulatorScript()
      script.tokenAnswers = [.init(.silence)]
      await bench.simulator.replaceScript(script)
      _ = try client.start(.assertion(try bench.account.assertion()))
      #expect(try await client.send(Request(token: "a", authorization: nil)).status == 401)
      #expect(client.unanswered == 1)
    }
  }

  @Test func bearersAreKnownAndEnd() async throws {
    let shift = ClockShift()
    try await withSimulator(
      changed {
        $0.script.accessTokenSeconds = 60
        $0.clock = { WallClock.nowMicroseconds() + shift.seconds * 1_000_000 }
      }
    ) { _, bench in
      let (client, authorization) = try await bench.authorized()
      func send(_ authorization: String?) async throws -> String {
        let reply = try await client.send(Request(token: "a", authorization: authorization))
        return "\(reply.verdict) \(reply.reason ?? "")"
      }
      #expect(try await send(nil) == "401 UNAUTHENTICATED - CREDENTIALS_MISSING")
      let unknown = "401 UNAUTHENTICATED - ACCESS_TOKEN_TYPE_UNSUPPORTED"
      #expect(try await send(authorization + "x") == unknown)
      #expect(try await send("Basic abc") == unknown)
      #expect(try await send(authorization) == "200 - - ")
      #expect(try await send("bearer" + authorization.dropFirst(6)) == "200 - - ")
      shift.set(61)
      let expired = "401 UNAUTHENTICATED - ACCESS_TOKEN_EXPIRED"
      #expect(try await send(authorization) == expired)
      let reply = try await client.send(Request(token: "a", authorization: authorization))
      #expect(reply.headers["www-authenticate"]?.contains("invalid_token") == true)
      #expect(await bench.simulator.summary().accessTokensUsed == 1)
    }
  }

  @Test func anOldTokenLastsBesideANewOne() async throws {
    try await withSimulator { _, bench in
      let (client, first) = try await bench.authorized()
      let second = try await bench.authorize(client)
      for authorization in [first, second, first] {
        let reply = try await client.send(Request(token: "a", authorization: authorization))
        #expect(reply.status == 200)
      }
      #expect(await bench.simulator.summary().accessTokensUsed == 2)
    }
  }

  @Test func oneBearerExpiresByScriptOrMagic() async throws {
    try await withSimulator(scripted { $0.expiredAccessTokens = [1] }) { _, bench in
      let (client, first) = try await bench.authorized()
      let second = try await bench.authorize(client)
      let third = try await bench.authorize(client)
      func status(_ authorization: String, _ token: String = "a") async throws -> String? {
        let reply = try await client.send(Request(token: token, authorization: authorization))
        return reply.reason ?? "\(reply.status)"
      }
      #expect(try await status(first) == "ACCESS_TOKEN_EXPIRED")
      #expect(try await status(second) == "200")
      let magic = MagicTokens.token(.expiredBearer, tries: 1)
      #expect(try await status(second, magic) == "ACCESS_TOKEN_EXPIRED")
      #expect(try await status(second) == "ACCESS_TOKEN_EXPIRED")
      #expect(try await status(third, magic) == "200")
    }
  }

  @Test func aScopeOfOtherServicesSendsNothing() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let assertion = try bench.account.assertion {
        $0["scope"] = "https://www.googleapis.com/auth/datastore"
      }
      let issued = try await client.send(.assertion(assertion))
      let token = try JSONValue.parse(issued.body).object?["access_token"]?.string ?? ""
      let reply = try await client.send(Request(token: "a", authorization: "Bearer \(token)"))
      #expect(reply.verdict == "403 PERMISSION_DENIED -")
      #expect(reply.reason == "ACCESS_TOKEN_SCOPE_INSUFFICIENT")
    }
  }
}

/// Seconds that the simulator's clock is ahead.
final class ClockShift: Sendable {
  private let value = ThreadLock<Int64>(0)
  var seconds: Int64 { value.withLock { $0 } }
  func set(_ seconds: Int64) { value.withLock { $0 = seconds } }
}
