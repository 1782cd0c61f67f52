import APNsSimulator
import JSON
import Telemetry
import Testing
import Text

@Suite struct ControlTests {
  private func get(_ path: String) -> Request { .control("GET", path) }

  private func post(_ path: String, _ body: String) -> Request { .control("POST", path, body) }

  private static func token(_ number: Int) -> String {
    Hexadecimal.text(number, digits: 64)
  }

  @Test func ledgerAndSummaryAgreeWithWhatWasSent() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      _ = try await client.send(Request(token: Self.token(0)), authorization: authorization)
      let before = WallClock.nowMicroseconds()
      let long = String(repeating: "cd", count: 90)
      for _ in 0..<3 {
        _ = try await client.send(Request(token: long), authorization: authorization)
      }
      // Enough for the index to grow; tokens are found again afterwards.
      let count = 3000
      for start in stride(from: 0, to: count, by: 500) {
        let slots = try (start..<start + 500).map {
          try client.start(Request(token: Self.token($0)), authorization: authorization)
        }
        for slot in slots { #expect(await client.reply(to: slot).status == 200) }
      }
      for number in [1, count - 1] {
        let token = Self.token(number)
        _ = try await client.send(Request(token: token), authorization: authorization)
      }
      _ = try await client.send(Request(token: "zz"), authorization: authorization)

      let ledger = try await client.send(self.get("/simulator/ledger"), authorization: nil)
      #expect(ledger.status == 200)
      let value = try JSONValue.parse(ledger.body, maximumBytes: 1 << 24)
      let tokens = try #require(value.object?["tokens"]?.object)
      #expect(tokens.count == count + 1)
      let byName = Dictionary(uniqueKeysWithValues: tokens.members.map { ($0.name, $0.value) })
      for number in 0..<count {
        let entry = try #require(byName[Self.token(number)]?.object)
        let times: Int64 = [0, 1, count - 1].contains(number) ? 2 : 1
        #expect(entry["requests"]?.integer == times)
        #expect(entry["accepted"]?.integer == times)
        #expect(entry["last_status"]?.integer == 200)
      }
      #expect(byName[long]?.object?["accepted"]?.integer == 3)
      let counts = await bench.simulator.counts(of: long)
      #expect(counts == (3, 3))
      #expect(await bench.simulator.counts(of: Self.token(count - 1)) == (2, 2))
      #expect(await bench.simulator.counts(of: Self.token(999_999)) == (0, 0))

      let page = try await client.send(
        self.get("/simulator/ledger?from=10&count=5"), authorization: nil)
      let names = try JSONValue.parse(page.body).object?["tokens"]?.object?.members.map(\.name)
      #expect(names == (9..<14).map(Self.token))

      let reply = try await client.send(self.get("/simulator/summary"), authorization: nil)
      let summary = try #require(try JSONValue.parse(reply.body).object)
      #expect(summary["requests"]?.integer == Int64(count + 7))
      #expect(summary["accepted"]?.integer == Int64(count + 6))
      #expect(summary["by_reason"]?.object?["BadDeviceToken"]?.integer == 1)
      #expect(summary["tokens"]?.integer == Int64(count + 1))
      #expect(summary["tokens_accepted_more_than_once"]?.integer == 4)
      #expect(summary["duplicates"]?.integer == 5)
      let first = try #require(summary["first_arrival_us"]?.integer)
      let last = try #require(summary["last_arrival_us"]?.integer)
      #expect(first < before && last >= before)
      #expect(summary["open_connections"]?.integer == 1)
    }
  }

  @Test func anEmptyLedgerIsJSON() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let ledger = try await client.send(self.get("/simulator/ledger"), authorization: nil)
      #expect(try JSONValue.parse(ledger.body).object?["tokens"]?.object?.isEmpty == true)
    }
  }

  @Test func resetForgetsTokensAndNumbers() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      _ = try await client.send(Request(), authorization: try bench.authorization())
      let reply = try await client.send(self.post("/simulator/reset", ""), authorization: nil)
      #expect(reply.status == 200)
      let summary = await bench.simulator.summary()
      #expect(summary.requests == 0)
      #expect(summary.tokens == 0)
    }
  }

  @Test func aScriptCanBeReplacedWhileItRuns() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      #expect(try await client.send(Request(), authorization: authorization).status == 200)
      #expect(client.streamLimit == 1000)
      let script = #"{"mix": {"InternalServerError": 1.0}, "streams": 5}"#
      let reply = try await client.send(
        self.post("/simulator/script", script), authorization: nil)
      #expect(reply.status == 200)
      #expect(try await client.send(Request(), authorization: authorization).status == 500)
      #expect(client.streamLimit == 5)
      let bad = try await client.send(
        self.post("/simulator/script", #"{"mixture": 1}"#), authorization: nil)
      #expect(bad.status == 400)
      #expect(bad.text.contains("mixture"))
      #expect(try await client.send(Request(), authorization: authorization).status == 500)
    }
  }

  @Test func wrongPathsAndMethodsAreToldSo() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let wrong = try await client.send(self.get("/simulator/nothing"), authorization: nil)
      #expect(wrong.status == 404)
      let method = try await client.send(self.post("/simulator/ledger", ""), authorization: nil)
      #expect(method.status == 405)
    }
  }

  @Test func nobodyWithoutTheTokenSeesOrSteersARun() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      _ = try await client.send(Request(), authorization: authorization)
      for (name, value) in [
        ("simulator-token", "c0ffe0"), ("simulator-token", ""), ("x", "c0ffee"),
      ] {
        for path in ["ledger", "summary", "pushes?token=ab"] {
          var request = self.get("/simulator/\(path)")
          request.fields = [(name, value)]
          #expect(try await client.send(request, authorization: authorization).status == 403)
        }
        var request = self.post("/simulator/script", #"{"mix": {"InternalServerError": 1.0}}"#)
        request.fields = [(name, value)]
        #expect(try await client.send(request, authorization: nil).status == 403)
        request = self.post("/simulator/reset", "")
        request.fields = [(name, value)]
        #expect(try await client.send(request, authorization: nil).status == 403)
      }
      #expect(try await client.send(Request(), authorization: authorization).status == 200)
      #expect(await bench.simulator.summary().requests == 2)
    }
  }

  @Test func oneSeesTheLastPushOfADevice() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      let token = Self.token(7)
      func pushes(_ token: String) async throws -> Reply {
        try await client.send(self.get("/simulator/pushes?token=\(token)"), authorization: nil)
      }
      #expect(try await pushes(token).status == 404)
      #expect(try await pushes("").status == 404)
      for text in ["one", "two", "\u{7}✓ \"three\""] {
        var request = Request(token: token)
        request.body = Array("{\"aps\":{\"alert\":\(JSONString.quoted(text))}}".utf8)
        #expect(try await client.send(request, authorization: authorization).status == 200)
        _ = try await client.send(Request(token: Self.token(8)), authorization: authorization)
        let seen = try JSONValue.parse(try await pushes(token.uppercased()).body).object
        #expect(seen?["payload"]?.object?["aps"]?.object?["alert"]?.string == text)
        #expect(seen?["token"]?.string == token)
        #expect(seen?["topic"]?.string == "com.example.live")
        #expect(seen?["push_type"]?.string == "alert")
        #expect(seen?["accepted"] == true)
      }
      var refused = Request(token: token)
      refused.body = Array("no \"object\"".utf8)
      _ = try await client.send(refused, authorization: authorization)
      let seen = try JSONValue.parse(try await pushes(token).body).object
      #expect(seen?["payload"]?.string == "no \"object\"")
      #expect(seen?["accepted"] == false)
      _ = try await client.send(self.post("/simulator/reset", ""), authorization: nil)
      #expect(try await pushes(token).status == 404)
    }
  }

  @Test func aBodyOfAControlRequestIsBounded() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      _ = try await client.send(Request(), authorization: try bench.authorization())
      let filler = String(repeating: " ", count: 1_200_000)
      let large = try await client.send(
        self.post("/simulator/script", filler + "{}"), authorization: nil)
      #expect(large.status == 413)
      // Room that was given back is there again.
      let script = String(repeating: " ", count: 1_000_000) + "{}"
      for _ in 0..<8 {
        let reply = try await client.send(
          self.post("/simulator/script", script), authorization: nil)
        #expect(reply.status == 200)
      }
    }
  }

  @Test func aConnectionThatSaysNothingIsClosed() async throws {
    try await withSimulator(changed { $0.idleTimeout = .milliseconds(200) }) { _, bench in
      let client = try await bench.connect()
      _ = try await client.send(Request(), authorization: try bench.authorization())
      await client.until { $0.isLost }
      #expect(client.goAways.map(\.lastStreamID) == [1])
      #expect(await bench.simulator.summary().openConnections == 0)
    }
  }
}
