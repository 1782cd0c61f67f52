import APNsSimulator
import HTTP2
import Testing

/// Faults of whole connections: silence, GOAWAY, lost sockets.
@Suite struct ConnectionFaultTests {
  @Test func silenceIsSilent() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      _ = try await client.send(Request(), authorization: authorization)
      let request = Request(token: AnswerTests.token(MagicTokens.prefix + "0fff"))
      _ = try client.start(request, authorization: authorization)
      for number in 0..<20 {
        let token = AnswerTests.token("", number)
        _ = try await client.send(Request(token: token), authorization: authorization)
      }
      #expect(client.unanswered == 1)
      #expect(await bench.simulator.summary().unanswered == 1)
    }
  }

  @Test func goAwayComesAfterItsRequestsWithTheLastStream() async throws {
    try await withSimulator(
      changed {
        $0.script.goAwayAfter = 10
        $0.script.goAwayBehind = 3
      }
    ) { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      _ = try await client.send(Request(token: AnswerTests.token("")), authorization: authorization)
      let slots = try (1..<12).map {
        try client.start(Request(token: AnswerTests.token("", $0)), authorization: authorization)
      }
      await client.until { $0.unanswered == 0 || $0.isLost }
      #expect(client.goAways.map(\.lastStreamID) == [13])
      for (index, slot) in slots.enumerated() {
        let reply = await client.reply(to: slot)
        #expect(reply.status == (index < 6 ? 200 : 0))
        #expect(reply.closed == (index < 6 ? 0 : HTTP2ErrorCode.refusedStream))
      }
      await client.until { $0.isLost }
      let summary = await bench.simulator.summary()
      #expect(summary.requests == 7)
      #expect(summary.accepted == 7)
      let another = try await bench.connect()
      #expect(try await another.send(Request(), authorization: authorization).status == 200)
    }
  }

  @Test func aDroppedConnectionTakesItsStreamsWithIt() async throws {
    try await withSimulator(changed { $0.script.dropAfter = 5 }) { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      for number in 0..<4 {
        let token = AnswerTests.token("", number)
        let reply = try await client.send(Request(token: token), authorization: authorization)
        #expect(reply.status == 200)
      }
      let reply = try await client.send(Request(), authorization: authorization)
      #expect(reply.closed == nil)
      #expect(client.isLost)
      #expect(await bench.simulator.summary().requests == 4)
    }
  }
}
