import Fixtures
import Testing
import WebPushSimulator

/// Services that speak HTTP/1.1.
@Suite struct HTTP1Tests {
  private static let end = "\r\n\r\n"

  /// The host of the handshake decides; who offers HTTP/1.1 alone gets it everywhere.
  @Test(arguments: [
    (Host.http1, ["h2", "http/1.1"], "http/1.1"), (Host.other, ["h2", "http/1.1"], "h2"),
    (Host.other, ["http/1.1"], "http/1.1"), ("127.0.0.1", ["http/1.1"], "http/1.1"),
    ("127.0.0.1", ["h2", "http/1.1"], "h2"),
  ])
  func theHandshakeChooses(host: String, alpn: [String], expected: String) async throws {
    try await withSimulator { _, bench in
      let client = try bench.connectHTTP1(host, alpn: alpn)
      #expect(client.applicationProtocol == expected)
    }
  }

  @Test func aConnectionCarriesRequestAfterRequest() async throws {
    try await withSimulator { _, bench in
      let client = try bench.connectHTTP1(Host.http1)
      for number in 0..<3 {
        let subscription = try await bench.simulator.makeSubscription(host: Host.http1)
        client.send(try bench.sender.request(subscription, "message \(number)").http1)
        let answer = try #require(client.read(until: Self.end))
        #expect(answer.hasPrefix("HTTP/1.1 201 Created\r\ncontent-length: 0\r\n"))
        #expect(answer.contains("\r\nlocation: https://http1.push.test/m/"))
        #expect(answer.contains("\r\nttl: 90\r\n") && !answer.contains("connection:"))
        let message = await bench.simulator.lastMessage(of: subscription.endpoint)
        #expect(message == Array("message \(number)".utf8))
      }
      let summary = await bench.simulator.summary()
      #expect(summary.accepted == 3 && summary.http1Connections == 1 && summary.connections == 1)
    }
  }

  @Test func requestsInOnePieceAndInManyAreTheSame() async throws {
    try await withSimulator { _, bench in
      let client = try bench.connectHTTP1(Host.http1)
      let subscription = try await bench.simulator.makeSubscription(host: Host.http1)
      let request = try bench.sender.request(subscription).http1
      client.send(request + request + request)
      for start in stride(from: 0, to: request.count, by: 100) {
        client.send(Array(request[start..<min(start + 100, request.count)]))
      }
      client.send(Array("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
      let answers = try #require(client.readToEnd())
      #expect(answers.split(separator: "HTTP/1.1 201 Created").count == 4)
      #expect(answers.contains("HTTP/1.1 405 Method Not Allowed"))
      #expect(await bench.simulator.counts(of: subscription.endpoint) == (4, 4))
    }
  }

  @Test func refusalsComeWithTheirBodies() async throws {
    try await withSimulator { _, bench in
      let client = try bench.connectHTTP1()
      let subscription = try await bench.simulator.makeSubscription(
        host: Host.mozilla, MagicFault(.tooMany))
      client.send(try bench.sender.request(subscription).http1)
      let answer = try #require(client.read(until: "}"))
      #expect(answer.hasPrefix("HTTP/1.1 429 Too Many Requests\r\n"))
      #expect(answer.contains("\r\nretry-after: 120\r\n") && answer.contains(#""errno":201"#))
      let double = try bench.sender.request(subscription).changed {
        $0.fields.append(("urgency", "low"))
      }
      client.send(double.http1)
      #expect(try #require(client.read(until: "}")).hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
    }
  }

  @Test func whoAsksForTheEndGetsIt() async throws {
    try await withSimulator { _, bench in
      let client = try bench.connectHTTP1()
      let subscription = try await bench.simulator.makeSubscription(host: Host.other)
      let request = try bench.sender.request(subscription).changed { $0["connection"] = "close" }
      client.send(request.http1)
      let answer = try #require(client.readToEnd())
      #expect(answer.hasPrefix("HTTP/1.1 201 ") && answer.contains("\r\nconnection: close\r\n"))
    }
  }

  @Test(arguments: [
    ("POST / HTTP/1.1\n", 0, "400"), ("POST / HTTP/2.0\r\n", 0, "400"),
    // Over 16 KiB.
    ("POST / HTTP/1.1\r\nHost: a\r\nx: ", 16 << 10, "431"),
  ])
  func bytesThatAreNoRequestEndTheConnection(
    head: String, padding: Int, status: String
  ) async throws {
    try await withSimulator { _, bench in
      let client = try bench.connectHTTP1()
      client.send(head + String(repeating: "x", count: padding) + "\r\n\r\n")
      let answer = try #require(client.readToEnd())
      #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains("connection: close"))
    }
  }

  /// HTTP/1.1 has no other way to leave a request.
  @Test(arguments: [WebPushFault.reset, .refusedStream, .goAway, .drop])
  func faultsOfStreamsCloseTheConnection(fault: WebPushFault) async throws {
    try await withSimulator { _, bench in
      let client = try bench.connectHTTP1()
      let subscription = try await bench.simulator.makeSubscription(
        host: Host.other, MagicFault(fault))
      client.send(try bench.sender.request(subscription).http1)
      #expect(client.readToEnd() == "")
    }
  }

  @Test func slowAnswersAndTheEndByScriptComeThisWayToo() async throws {
    try await withSimulator(
      scripted {
        $0.slowness = .milliseconds(20)
        $0.connections.goAwayAfter = 2
      }
    ) { _, bench in
      let client = try bench.connectHTTP1()
      let slow = try await bench.simulator.makeSubscription(host: Host.other, MagicFault(.slow))
      let request = try bench.sender.request(slow).http1
      client.send(request + request + request)
      let answers = try #require(client.readToEnd())
      #expect(answers.split(separator: "HTTP/1.1 201 Created").count == 2)
      #expect(answers.split(separator: "connection: close").count == 2)
      #expect(await bench.simulator.counts(of: slow.endpoint) == (2, 2))
    }
  }
}
