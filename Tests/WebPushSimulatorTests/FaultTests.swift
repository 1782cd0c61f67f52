import Fixtures
import HTTP2
import Testing
import WebPushSimulator

/// Faults on request, in the words of each service.
@Suite struct FaultTests {
  /// The answers of Google, Mozilla, Apple, Microsoft and any other.
  private static let verdicts: [(fault: WebPushFault, verdicts: [String])] = [
    (.gone, ["410", "410 errno106", "410 Unregistered", "410", "410"]),
    (.notFound, ["404", "404 errno102", "404 BadPath", "404", "404"]),
    (.tooMany, ["429", "429 errno201", "429 TooManyRequests", "406", "429"]),
    (.throttled, ["406", "429 errno201", "406 TooManyRequests", "406", "406"]),
    (.tooLarge, ["400", "413 errno104", "413 PayloadTooLarge", "413", "413"]),
    (.badRequest, ["400", "400 errno111", "400 BadWebPushRequest", "400", "400"]),
    (.unauthorized, ["401", "401 errno109", "403 BadJwtToken", "401", "401"]),
    (
      .unauthorizedRegistration,
      ["400 UnauthorizedRegistration", "401 errno109", "403 BadJwtToken", "401", "401"]
    ),
    (.badToken, ["403", "401 errno109", "403 BadJwtToken", "403", "403"]),
    (.badKey, ["403", "401 errno109", "403 BadVapidPublicKey", "403", "403"]),
    (.otherKey, ["403", "401 errno109", "403 VapidPkHashMismatch", "403", "403"]),
    (.redirect, ["307", "307 errno999", "307 BadWebPushRequest", "307", "307"]),
    (.internal, ["500", "500 errno999", "500 InternalServerError", "500", "500"]),
    (.badGateway, ["502", "502 errno900", "502 InternalServerError", "502", "502"]),
    (.unavailable, ["503", "503 errno201", "503 ServiceUnavailable", "503", "503"]),
  ]

  @Test func magicSubscriptionsChooseTheirFault() async throws {
    #expect(
      Set(Self.verdicts.map(\.fault)) == Set(WebPushFault.allCases.filter { $0.refusal != nil }))
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      for (fault, verdicts) in Self.verdicts {
        for (number, host) in Host.all.enumerated() {
          let magic = MagicFault(fault, tries: 2)
          let made = try await bench.simulator.makeSubscription(host: host, magic)
          let numbered = try await bench.simulator.numberedSubscription(
            number, host: host, magic)
          for subscription in [made, numbered] {
            let request = try bench.sender.request(subscription)
            for _ in 0..<2 {
              let reply = try await client.send(request)
              #expect(reply.verdict == verdicts[number], "\(fault) \(host)")
              #expect((reply.headers["location"] != nil) == (fault == .redirect))
            }
            #expect(await bench.simulator.lastStatus(of: subscription.endpoint) != 201)
            #expect(try await client.send(request).status == 201)
            #expect(await bench.simulator.counts(of: subscription.endpoint) == (3, 1))
          }
        }
      }
      #expect(await bench.simulator.summary().byReason["gone"] == 20)
    }
  }

  /// As each service names it; `retry_after` of a script goes before.
  @Test(arguments: [
    (Host.google, "429 30"), (Host.mozilla, "429 120"), (Host.apple, "429 30"),
    (Host.windows, "406 900"), (Host.other, "429 30"),
  ])
  func servicesSayWhenToComeAgain(host: String, expected: String) async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      func send(_ magic: MagicFault?) async throws -> String {
        let subscription = try await bench.simulator.makeSubscription(host: host, magic)
        let reply = try await client.send(bench.sender.request(subscription))
        return "\(reply.status) \(reply.headers["retry-after"] ?? "-")"
      }
      #expect(try await send(MagicFault(.tooMany)) == expected)
      #expect(try await send(MagicFault(.throttled)).hasSuffix(" 900"))
      #expect(try await send(MagicFault(.internal)) == "500 -")
      let script =
        #"{"rules":[{"prefix":"https://","answers":[{"fault":"too_many","retry_after":7}]}]}"#
      await bench.simulator.replaceScript(try WebPushSimulatorScript.parse(Array(script.utf8)))
      #expect(try await send(nil) == "\(expected.prefix(3)) 7")
    }
  }

  /// Google answers 410 about subscriptions that are seconds old.
  @Test func aFreshSubscriptionIsGoneAtFirst() async throws {
    let script = #"{"rules":[{"prefix":"https://fcm.","answers":[{"fault":"gone","times":1}]}]}"#
    let parsed = try WebPushSimulatorScript.parse(Array(script.utf8))
    try await withSimulator(changed { $0.script = parsed }) { _, bench in
      let client = try await bench.connect()
      for number in 0..<3 {
        let subscription = try await bench.simulator.numberedSubscription(
          number, host: Host.google)
        let request = try bench.sender.request(subscription)
        #expect(try await client.send(request).status == 410)
        #expect(try await client.send(request).status == 201)
      }
      let other = try await bench.simulator.makeSubscription(host: Host.mozilla)
      #expect(try await client.send(bench.sender.request(other)).status == 201)
    }
  }

  @Test func rulesNameEndpointsAndGoBeforeTheMix() async throws {
    try await withSimulator(scripted { $0.mix = [.init(.gone, probability: 1)] }) { _, bench in
      let client = try await bench.connect()
      let one = try await bench.simulator.makeSubscription(host: Host.other)
      let two = try await bench.simulator.makeSubscription(host: Host.other)
      var script = WebPushSimulatorScript()
      let raw =
        #"{"rules":[{"endpoints":["\#(one.endpoint)"],"#
        + #""answers":[{"status":418,"body":"tea","retry_after":9}]}],"mix":{"gone":1}}"#
      script = try WebPushSimulatorScript.parse(Array(raw.utf8))
      await bench.simulator.replaceScript(script)
      let reply = try await client.send(bench.sender.request(one))
      #expect(reply.status == 418 && reply.text == "tea" && reply.headers["retry-after"] == "9")
      #expect(try await client.send(bench.sender.request(two)).status == 410)
      let summary = await bench.simulator.summary()
      #expect(summary.byReason == ["script": 1, "gone": 1])
    }
  }

  /// A slow one is overtaken.
  @Test func slowAnswersComeLast() async throws {
    try await withSimulator(scripted { $0.slowness = .milliseconds(100) }) { _, bench in
      let client = try await bench.connect()
      let slow = try await bench.simulator.makeSubscription(
        host: Host.apple, MagicFault(.slow))
      let fast = try await bench.simulator.makeSubscription(host: Host.apple)
      let slot = try client.start(bench.sender.request(slow))
      #expect(try await client.send(bench.sender.request(fast)).status == 201)
      #expect(client.unanswered == 1)
      #expect(await client.reply(to: slot).status == 201)
    }
  }

  @Test func streamsAreResetAndLeftInSilence() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      func start(_ fault: WebPushFault) async throws -> Int {
        let subscription = try await bench.simulator.makeSubscription(
          host: Host.google, MagicFault(fault))
        return try client.start(bench.sender.request(subscription))
      }
      let silent = try await start(.silence)
      let reset = await client.reply(to: try await start(.reset))
      #expect(reset.status == 0 && reset.closed == HTTP2ErrorCode.internalError)
      let refused = await client.reply(to: try await start(.refusedStream))
      #expect(refused.closed == HTTP2ErrorCode.refusedStream)
      #expect(client.unanswered == 1 && !client.isLost)
      let dropped = await client.reply(to: try await start(.drop))
      #expect(dropped.closed == nil && client.isLost)
      #expect(await client.reply(to: silent).closed == nil)
      let summary = await bench.simulator.summary()
      #expect(summary.resets == 2 && summary.unanswered == 2)
    }
  }

  @Test func aMagicGoAwayLeavesItsOwnRequestOut() async throws {
    try await withSimulator { _, bench in
      let client = try await bench.connect()
      let sound = try await bench.simulator.makeSubscription(host: Host.google)
      let magic = try await bench.simulator.makeSubscription(
        host: Host.google, MagicFault(.goAway, tries: 1))
      #expect(try await client.send(bench.sender.request(sound)).status == 201)
      let left = await client.reply(to: try client.start(bench.sender.request(magic)))
      #expect(left.status == 0)
      await client.until { $0.isLost }
      #expect(client.goAways.map(\.lastStreamID) == [1])
      #expect(client.goAways.map(\.errorCode) == [HTTP2ErrorCode.noError])
      let next = try await bench.connect()
      #expect(try await next.send(bench.sender.request(magic)).status == 201)
      #expect(await bench.simulator.counts(of: magic.endpoint) == (2, 1))
    }
  }
}
