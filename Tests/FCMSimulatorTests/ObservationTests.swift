import FCMSimulator
import JSON
import Testing
import Threads

/// What who runs the simulator in its own process sees of it.
@Suite struct ObservationTests {
  private struct Seen: Equatable {
    let token: String
    let request: String
    let answer: FCMAnswer
  }

  @Test func eachMessageForATokenIsObservedWithItsAnswer() async throws {
    let seen = ThreadLock<[Seen]>([])
    let setup = changed {
      $0.observe = { message in
        let one = Seen(
          token: String(decoding: message.token, as: UTF8.self),
          request: String(decoding: message.request, as: UTF8.self), answer: message.answer)
        seen.withLock { $0.append(one) }
      }
    }
    try await withSimulator(setup) { _, bench in
      let (client, authorization) = try await bench.authorized()
      let tokens = ["abc", MagicTokens.token(.unregistered), MagicTokens.token(.silence)]
      let requests = tokens.map { Request(token: $0, authorization: authorization) }
      _ = try await client.send(requests[0])
      _ = try await client.send(requests[1])
      _ = try client.start(requests[2])
      // Of no token, and behind the silent one.
      _ = try await client.send(Request(token: "abc", authorization: nil))
      let answers = [FCMAnswer.accept, FCMAnswer(.unregistered), .silence]
      let expected = zip(zip(tokens, requests), answers).map {
        Seen(
          token: $0.0.0, request: String(decoding: $0.0.1.body, as: UTF8.self), answer: $0.1)
      }
      #expect(seen.withLock { $0 } == expected)
    }
  }

  @Test func accessTokensAreIssuedWithoutAConnection() async throws {
    try await withSimulator { _, bench in
      let form = Request.assertion(try bench.account.assertion()).body
      let answer = try #require(await bench.simulator.exchange(form))
      #expect(answer.status == 200)
      let token = try JSONValue.parse(answer.body).object?["access_token"]?.string ?? ""
      let client = try await bench.connect()
      let reply = try await client.send(Request(token: "abc", authorization: "Bearer \(token)"))
      #expect(reply.status == 200)
      #expect(await bench.simulator.exchange([])?.status == 400)
      var script = FCMSimulatorScript()
      script.tokenAnswers = [.init(.silence, times: 1), .init(.unavailable)]
      await bench.simulator.replaceScript(script)
      #expect(await bench.simulator.exchange(form) == nil)
      #expect(await bench.simulator.exchange(form)?.status == 503)
    }
  }
}
