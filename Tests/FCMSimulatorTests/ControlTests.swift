import FCMSimulator
import JSON
import Testing

/// Requests under /simulator/: what the demo and its audit ask.
@Suite struct ControlTests {
  private static let token = "c0ffee"

  private static func get(_ path: String) -> Request { request("GET", path, "") }

  private static func post(_ path: String, _ body: String = "") -> Request {
    request("POST", path, body)
  }

  private static func request(_ method: String, _ path: String, _ body: String) -> Request {
    var request = Request(body, authorization: nil)
    request.method = method
    request.path = "/simulator/" + path
    request.controlToken = token
    return request
  }

  @Test func ledgerAndSummaryAgreeWithWhatWasSent() async throws {
    try await withSimulator(changed { $0.controlToken = Self.token }) { _, bench in
      let (client, authorization) = try await bench.authorized()
      let gone = MagicTokens.token(.unregistered)
      for token in ["a:b-1", gone, "a:b-1", "z"] {
        _ = try await client.send(Request(token: token, authorization: authorization))
      }
      let ledger = try await client.send(Self.get("ledger"))
      let tokens = try #require(try JSONValue.parse(ledger.body).object?["tokens"]?.object)
      #expect(tokens.members.map(\.name) == ["a:b-1", gone, "z"])
      #expect(tokens["a:b-1"]?.object?["requests"]?.integer == 2)
      #expect(tokens["a:b-1"]?.object?["accepted"]?.integer == 2)
      #expect(tokens[gone]?.object?["accepted"]?.integer == 0)
      #expect(tokens[gone]?.object?["last_status"]?.integer == 404)
      let page = try await client.send(Self.get("ledger?from=1&count=1"))
      #expect(
        try JSONValue.parse(page.body).object?["tokens"]?.object?.members.map(\.name) == [gone])
      let reply = try await client.send(Self.get("summary"))
      let summary = try #require(try JSONValue.parse(reply.body).object)
      #expect(summary["requests"]?.integer == 4 && summary["accepted"]?.integer == 3)
      #expect(summary["tokens"]?.integer == 3 && summary["duplicates"]?.integer == 1)
      #expect(summary["by_error_code"]?.object?["UNREGISTERED"]?.integer == 1)
      let first = try #require(tokens["a:b-1"]?.object?["first_us"]?.integer)
      #expect(summary["first_arrival_us"]?.integer == first && first > 0)
    }
  }

  @Test func oneSeesTheLastPushOfADevice() async throws {
    try await withSimulator(changed { $0.controlToken = Self.token }) { _, bench in
      let (client, authorization) = try await bench.authorized()
      #expect(try await client.send(Self.get("pushes?token=a:b")).status == 404)
      _ = try await client.send(Request(token: "a:b", authorization: authorization))
      for name in ["a:b", "a%3Ab"] {
        let reply = try await client.send(Self.get("pushes?token=\(name)"))
        let seen = try #require(try JSONValue.parse(reply.body).object)
        #expect(seen["token"]?.string == "a:b" && seen["status"]?.integer == 200)
        let message = seen["request"]?.object?["message"]?.object
        #expect(message?["data"]?.object?["stream"]?.string == "1")
      }
    }
  }

  @Test func aScriptCanBeReplacedAndARunForgotten() async throws {
    try await withSimulator(changed { $0.controlToken = Self.token }) { _, bench in
      let (client, authorization) = try await bench.authorized()
      let script = #"{"mix": {"internal": 1}}"#
      #expect(try await client.send(Self.post("script", script)).status == 200)
      let message = Request(token: "a", authorization: authorization)
      #expect(try await client.send(message).status == 500)
      let bad = try await client.send(Self.post("script", #"{"mixture": 1}"#))
      #expect(bad.status == 400 && bad.text.contains("mixture"))
      #expect(try await client.send(Self.post("reset")).status == 200)
      let summary = await bench.simulator.summary()
      #expect(summary.requests == 0 && summary.tokens == 0 && summary.openConnections == 1)
      // The script stays, and so do access tokens.
      #expect(try await client.send(message).status == 500)
    }
  }

  @Test func nobodyWithoutTheTokenSeesOrSteersARun() async throws {
    try await withSimulator(changed { $0.controlToken = Self.token }) { _, bench in
      let client = try await bench.connect()
      for token in [nil, "", "c0ffe0"] as [String?] {
        for var request in [
          Self.get("ledger"), Self.get("summary"), Self.post("reset"), Self.post("script", "{}"),
        ] {
          request.controlToken = token
          #expect(try await client.send(request).status == 403)
        }
      }
      #expect(try await client.send(Self.get("nothing")).status == 404)
      #expect(try await client.send(Self.post("ledger")).status == 405)
      #expect(await bench.simulator.summary().requests == 0)
    }
  }
}
