import HTTP2
import Testing

@testable import APNsSimulator

/// Too many errors on a connection cut its limit of streams and then end it.
@Suite struct CountedErrorsTests {
  private func script(cut: Int? = nil, end: Int? = nil) -> SimulatorScript {
    var script = SimulatorScript()
    script.cutAfter = cut
    script.endAfter = end
    return script
  }

  @Test func onlyRefusalsOf4xxBut410Count() {
    for reason in AppleReason.allCases {
      var errors = CountedErrors()
      let counts = (400...499).contains(reason.status) && reason.status != 410
      let consequence = errors.refused(Refusal(reason), script(end: 1))
      #expect(consequence == (counts ? .end : .none), "\(reason)")
    }
  }

  @Test func theLimitIsHalvedDownToOneAndThenTheConnectionEnds() {
    var errors = CountedErrors()
    let script = script(cut: 2, end: 20)
    var limits: [Int] = []
    for _ in 0..<19 {
      if errors.refused(Refusal(.payloadTooLarge), script) == .cut {
        limits.append(errors.streamLimit(of: 100))
      }
    }
    #expect(limits == [50, 25, 12, 6, 3, 1, 1, 1, 1])
    #expect(errors.streamLimit(of: 0) == 0)
    #expect(errors.refused(Refusal(.payloadTooLarge), script) == .end)
  }

  @Test func aBadTokenCountsAsSeveral() {
    var errors = CountedErrors()
    let script = script(cut: CountedErrors.badDeviceToken + 1)
    #expect(errors.refused(Refusal(.badDeviceToken), script) == .none)
    #expect(errors.refused(Refusal(.payloadTooLarge), script) == .cut)
  }

  @Test func withoutAWordOfItNothingFollows() {
    var errors = CountedErrors()
    for _ in 0..<1000 { #expect(errors.refused(Refusal(.badDeviceToken), script()) == .none) }
    #expect(errors.streamLimit(of: 1000) == 1000)
  }

  @Test func theClientIsToldAndAnotherScriptForgives() async throws {
    try await withSimulator(
      changed {
        $0.script.streams = 8
        $0.script.cutAfter = CountedErrors.badDeviceToken
      }
    ) { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      _ = try await client.send(Request(), authorization: authorization)
      for number in 0..<5 {
        let token = AnswerTests.token(MagicTokens.prefix + "0400", number)
        let reply = try await client.send(Request(token: token), authorization: authorization)
        #expect(reply.status == 400)
      }
      #expect(Array(client.streamLimits.suffix(4)) == [8, 4, 2, 1])
      await bench.simulator.replaceScript(SimulatorScript())
      await client.until { $0.isLost || $0.streamLimit == 1000 }
      let reply = try await client.send(Request(), authorization: authorization)
      #expect(reply.status == 200)
    }
  }

  @Test func theConnectionEndsWithTheCodeThatIsAskedFor() async throws {
    try await withSimulator(
      changed {
        $0.script.endAfter = 2
        $0.script.goAwayCode = 11
      }
    ) { _, bench in
      let client = try await bench.connect()
      let authorization = try bench.authorization()
      for number in 0..<2 {
        #expect(client.goAways.isEmpty)
        let token = AnswerTests.token(MagicTokens.prefix + "0413", number)
        _ = try await client.send(Request(token: token), authorization: authorization)
      }
      await client.until { $0.isLost || !$0.goAways.isEmpty }
      #expect(client.goAways.map(\.lastStreamID) == [3])
      #expect(client.goAways.map(\.errorCode) == [11])
    }
  }
}
