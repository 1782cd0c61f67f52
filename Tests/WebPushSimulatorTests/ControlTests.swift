import Fixtures
import JSON
import Testing
import Text
import WebPushSimulator

/// Requests under `/simulator/`.
@Suite struct ControlTests {
  private static func request(
    _ path: String, _ body: String? = nil, token: String?
  ) -> PushRequest {
    var request = PushRequest()
    request.method = body == nil ? "GET" : "POST"
    request.authority = Host.apple
    request.path = "/simulator/" + path
    request.fields = token.map { [("simulator-token", $0)] } ?? []
    request.body = Array((body ?? "").utf8)
    return request
  }

  @Test func theTokenIsNeeded() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      for token in [nil, "", "x", bench.address.controlToken + "0"] {
        let reply = try await client.send(Self.request("summary", token: token))
        #expect(reply.status == 403)
      }
      let reply = try await client.send(
        Self.request("summary", token: bench.address.controlToken))
      #expect(reply.status == 200 && reply.json?["requests"] == 0)
    }
  }

  @Test func subscriptionsAreMadeFollowedAndEnded() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let token = bench.address.controlToken
      let key = Base64URL.encode(try bench.sender.key.publicPoint())
      func post(_ path: String, _ body: String) async throws -> Reply {
        try await client.send(Self.request(path, body, token: token))
      }
      let bodies = [
        #"{"host":"push.test","count":2,"application_server_key":"\#(key)"}"#,
        #"{"host":"push.test","count":2,"first":5,"fault":"gone","tries":1}"#,
      ]
      for (index, body) in bodies.enumerated() {
        let reply = try await post("subscriptions", body)
        let made = try #require(reply.json?["subscriptions"]?.array)
        #expect(made.count == 2)
        for one in made {
          let subscription = try #require(SimulatedSubscription(one))
          let request = try bench.sender.request(subscription)
          if index == 1 { #expect(try await client.send(request).status == 410) }
          #expect(try await client.send(request).status == 201)
          let wish = #"{"endpoint":"\#(subscription.endpoint)"}"#
          let entry = try #require(try await post("ledger", wish).json)
          #expect(entry["requests"] == .integer(index == 1 ? 2 : 1) && entry["accepted"] == 1)
          #expect(entry["last_status"] == 201)
          #expect(
            entry["last_message"]?.string == Base64URL.encode(Array(#"{"title":"Live"}"#.utf8)))
          #expect(try await post("end", wish).status == 200)
          #expect(try await client.send(request).status == 410)
        }
      }
    }
  }

  @Test func theLedgerIsReadPageByPage() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let token = bench.address.controlToken
      let magic = MagicFault(.gone)
      var made = [try await bench.simulator.makeSubscription(host: Host.other)]
      for (number, host) in Host.all.enumerated() {
        made.append(try await bench.simulator.numberedSubscription(number, host: host))
      }
      made.append(try await bench.simulator.numberedSubscription(9, host: Host.apple, magic))
      for subscription in made { _ = try await client.send(bench.sender.request(subscription)) }
      _ = try await client.send(bench.sender.request(made[1]))
      var entries: [(name: String, entry: JSONObject)] = []
      for from in stride(from: 0, through: made.count, by: 3) {
        let reply = try await client.send(
          Self.request("ledger?from=\(from)&count=3", token: token))
        let page = try #require(reply.json?["tokens"]?.object)
        #expect(page.count == min(3, made.count - from))
        for member in page.members {
          entries.append((member.name, try #require(member.value.object)))
        }
      }
      #expect(entries.map(\.name) == made.map(\.endpoint))
      #expect(entries.map(\.entry["number"]) == [nil, 0, 1, 2, 3, 4, 9])
      #expect(entries.map(\.entry["requests"]) == [1, 2, 1, 1, 1, 1, 1])
      #expect(entries.map(\.entry["accepted"]) == [1, 2, 1, 1, 1, 1, 0])
      #expect(entries.map(\.entry["last_status"]) == [201, 201, 201, 201, 201, 201, 410])
      let whole = try await client.send(Self.request("ledger", token: token))
      #expect(whole.json?["tokens"]?.object?.count == made.count)
      let beyond = try await client.send(Self.request("ledger?from=99&count=-1", token: token))
      #expect(beyond.json?["tokens"]?.object?.count == 0)
    }
  }

  @Test func theLastMessageIsShown() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let token = bench.address.controlToken
      // The address of WNS has a query of its own.
      let subscription = try await bench.simulator.numberedSubscription(4, host: Host.windows)
      let path = "pushes?token=" + subscription.endpoint.replacing("?", with: "%3F")
      #expect(try await client.send(Self.request(path, token: token)).status == 404)
      for text in ["first", "the \"last\""] {
        #expect(try await client.send(bench.sender.request(subscription, text)).status == 201)
      }
      let shown = try #require(try await client.send(Self.request(path, token: token)).json)
      #expect(shown["message"] == #"the "last""# && shown["status"] == 201)
      #expect(shown["token"]?.string == subscription.endpoint)
    }
  }

  @Test func aResetForgetsLedgerAndNumbers() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let token = bench.address.controlToken
      let subscription = try await bench.simulator.makeSubscription(host: Host.google)
      #expect(try await client.send(bench.sender.request(subscription)).status == 201)
      #expect(try await client.send(Self.request("reset", "{}", token: token)).status == 200)
      let summary = try await client.send(Self.request("summary", token: token))
      #expect(summary.json?["requests"] == 0 && summary.json?["subscriptions"] == 0)
      #expect(summary.json?["connections"] == 1)
      // The subscription is still one.
      #expect(try await client.send(bench.sender.request(subscription)).status == 201)
      #expect(await bench.simulator.counts(of: subscription.endpoint) == (1, 1))
    }
  }

  @Test func theScriptIsReplaced() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let token = bench.address.controlToken
      let script = #"{"mix":{"unavailable":1}}"#
      #expect(try await client.send(Self.request("script", script, token: token)).status == 200)
      let subscription = try await bench.simulator.makeSubscription(host: Host.other)
      #expect(try await client.send(bench.sender.request(subscription)).status == 503)
    }
  }

  @Test(arguments: [
    ("script", #"{"mix":1}"#, 400, "mix"), ("subscriptions", "[]", 400, "object"),
    ("subscriptions", "{}", 400, "host"),
    ("subscriptions", #"{"host":"a","count":0}"#, 400, "count"),
    ("subscriptions", #"{"host":"a","count":10001}"#, 400, "count"),
    ("subscriptions", #"{"host":"a","fault":"x"}"#, 400, "fault"),
    ("subscriptions", #"{"host":"a","application_server_key":"x"}"#, 400, "application_server_key"),
    ("ledger", #"{"endpoint":"x"}"#, 400, "endpoint"), ("other", "{}", 404, "other"),
  ])
  func mistakesAreExplained(path: String, body: String, status: Int, word: String) async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let reply = try await client.send(
        Self.request(path, body, token: bench.address.controlToken))
      #expect(reply.status == status && reply.json?["message"]?.string?.contains(word) == true)
    }
  }

  @Test func theyAreTakenByHTTP1Too() async throws {
    try await withSimulator { _, bench in
      let client = try bench.connectHTTP1()
      var request = Self.request("summary", token: bench.address.controlToken)
      request["connection"] = "close"
      client.send(request.http1)
      let answer = try #require(client.readToEnd())
      #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.contains(#""http1_connections":1"#))
    }
  }
}

extension SimulatedSubscription {
  /// Reads what a browser would hand over.
  fileprivate init?(_ json: JSONValue) {
    guard let object = json.object, let keys = object["keys"]?.object,
      let endpoint = object["endpoint"]?.string,
      let publicKey = keys["p256dh"]?.string.flatMap({ Base64URL.decode($0.utf8) }),
      let secret = keys["auth"]?.string.flatMap({ Base64URL.decode($0.utf8) })
    else { return nil }
    self.init(endpoint: endpoint, publicKey: publicKey, secret: secret)
  }
}
