import FCMSimulator
import HTTP2
import Telemetry
import Testing
import Text

/// Answers about messages: those in order, and each fault.
@Suite struct FaultTests {
  @Test func aMessageIsAcceptedUnderANameOfTheProject() async throws {
    try await withSimulator { _, bench in
      let (client, authorization) = try await bench.authorized()
      let reply = try await client.send(Request(token: "abc", authorization: authorization))
      #expect(reply.status == 200)
      #expect(reply.text.hasPrefix("{\n  \"name\": \"projects/simulated-project/messages/0:"))
      #expect(reply.headers["content-type"] == "application/json; charset=UTF-8")
      var other = Request(token: "abc", authorization: authorization)
      other.path = "/v1/projects/100200300400/messages:send?alt=json"
      #expect(try await client.send(other).status == 200)
      #expect(await bench.simulator.counts(of: "abc") == (2, 2))
      #expect(await bench.simulator.lastBody(of: "abc") == other.body)
      #expect(await bench.simulator.lastStatus(of: "abc") == 200)
      let summary = await bench.simulator.summary()
      #expect(summary.duplicates == 1 && summary.tokensAccepted == 1 && summary.tokens == 1)
      #expect(summary.byStatus == [200: 2] && summary.byErrorCode.isEmpty)
    }
  }

  @Test func whatIsOnlyValidatedIsNotAccepted() async throws {
    try await withSimulator { _, bench in
      let (client, authorization) = try await bench.authorized()
      let body = #"{"validate_only":true,"message":{"token":"abc"}}"#
      let reply = try await client.send(Request(body, authorization: authorization))
      #expect(reply.text.contains("/messages/fake_message_id"))
      #expect(await bench.simulator.counts(of: "abc") == (1, 0))
      #expect(await bench.simulator.summary().validated == 1)
    }
  }

  @Test func otherProjectsAndPagesAreNotFound() async throws {
    try await withSimulator { _, bench in
      let (client, authorization) = try await bench.authorized()
      var request = Request(token: "abc", authorization: authorization)
      request.path = "/v1/projects/other/messages:send"
      #expect(try await client.send(request).verdict == "404 NOT_FOUND -")
      request.path = "/v1/messages:send"
      #expect(
        try await client.send(request).headers["content-type"]?.hasPrefix("text/html") == true)
      request.path = Request(token: "", authorization: nil).path
      request.method = "GET"
      #expect(try await client.send(request).verdict == "404 - -")
      #expect(await bench.simulator.counts(of: "abc") == (0, 0))
    }
  }

  @Test func aBodyThatIsTooLongIsRefused() async throws {
    try await withSimulator { _, bench in
      let (client, authorization) = try await bench.authorized()
      var request = Request(token: "abc", authorization: authorization)
      request.body = Array(repeating: UInt8(ascii: " "), count: 70_000) + request.body
      #expect(try await client.send(request).verdict == "400 INVALID_ARGUMENT -")
      #expect(await bench.simulator.counts(of: "abc") == (0, 0))
    }
  }

  private static let verdicts: [FCMFault: String] = [
    .unregistered: "404 NOT_FOUND UNREGISTERED",
    .senderIDMismatch: "403 PERMISSION_DENIED SENDER_ID_MISMATCH",
    .thirdPartyAuth: "401 UNAUTHENTICATED THIRD_PARTY_AUTH_ERROR",
    .badToken: "400 INVALID_ARGUMENT INVALID_ARGUMENT",
    .badPayload: "400 INVALID_ARGUMENT INVALID_ARGUMENT",
    .notFound: "404 NOT_FOUND -", .forbidden: "403 PERMISSION_DENIED -",
    .projectQuota: "429 RESOURCE_EXHAUSTED QUOTA_EXCEEDED",
    .deviceQuota: "429 RESOURCE_EXHAUSTED QUOTA_EXCEEDED",
    .internal: "500 INTERNAL INTERNAL", .unavailable: "503 UNAVAILABLE UNAVAILABLE",
    .unavailableSeconds: "503 UNAVAILABLE UNAVAILABLE",
    .unavailableDate: "503 UNAVAILABLE UNAVAILABLE",
    .badGateway: "502 - -", .emptyInternal: "500 - -",
  ]

  @Test func magicTokensChooseTheirFault() async throws {
    try await withSimulator { _, bench in
      let (client, authorization) = try await bench.authorized()
      var replies: [FCMFault: Reply] = [:]
      for (fault, verdict) in Self.verdicts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
        let token = MagicTokens.token(fault, tries: 1, "x")
        let request = Request(token: token, authorization: authorization)
        let reply = try await client.send(request)
        #expect(reply.verdict == verdict, "\(fault)")
        #expect(try await client.send(request).status == 200)
        #expect(await bench.simulator.counts(of: token) == (2, 1))
        replies[fault] = reply
      }
      #expect(replies[.badToken]?.field == "message.token")
      #expect(replies[.badPayload]?.field == "message.data")
      #expect(replies[.projectQuota]?.quotaSubject == "project")
      #expect(replies[.deviceQuota]?.quotaSubject == "device:token")
      #expect(replies[.badGateway]?.text.contains("<html") == true)
      #expect(replies[.emptyInternal]?.body == [])
      #expect(replies[.unavailable]?.headers["retry-after"] == nil)
      #expect(replies[.unavailableSeconds]?.headers["retry-after"] == "3")
      let summary = await bench.simulator.summary()
      #expect(summary.byErrorCode["UNREGISTERED"] == 1 && summary.byErrorCode["none"] == 4)
      #expect(summary.byStatus[503] == 3 && summary.accepted == Self.verdicts.count)
    }
  }

  @Test func aDateOfRetryAfterIsReadByRetryAfter() async throws {
    let now: Int64 = 1_795_838_400_000
    try await withSimulator(changed { $0.clock = { now * 1000 } }) { _, bench in
      let client = try await bench.connect()
      let assertion = try bench.account.assertion(now: now / 1000)
      let issued = try await client.send(.assertion(assertion))
      let token = issued.text.split(separator: "\"")[3]
      let reply = try await client.send(
        Request(
          token: MagicTokens.token(.unavailableDate), authorization: "Bearer \(token)"))
      let value = try #require(reply.headers["retry-after"])
      #expect(value == "Sat, 28 Nov 2026 04:00:03 GMT")
      let wait = Array(value.utf8).withUnsafeBytes { RetryAfter.parse($0, now: now) }
      #expect(wait == .seconds(3))
    }
  }

  @Test func streamsAreResetAndLeftInSilence() async throws {
    try await withSimulator { _, bench in
      let (client, authorization) = try await bench.authorized()
      func send(_ fault: FCMFault) throws -> Int {
        try client.start(
          Request(token: MagicTokens.token(fault), authorization: authorization))
      }
      let silent = try send(.silence)
      #expect(await client.reply(to: try send(.reset)).closed == HTTP2ErrorCode.internalError)
      let refused = await client.reply(to: try send(.refusedStream))
      #expect(refused.closed == HTTP2ErrorCode.refusedStream)
      #expect(client.unanswered == 1 && !client.isLost)
      let dropped = await client.reply(to: try send(.drop))
      #expect(dropped.closed == nil && client.isLost)
      #expect(await client.reply(to: silent).closed == nil)
      let summary = await bench.simulator.summary()
      #expect(summary.resets == 2 && summary.unanswered == 2)
    }
  }

  @Test func rulesGoBeforeTheMix() async throws {
    try await withSimulator(
      scripted {
        $0.rules = [
          .init(tokens: ["abc"], steps: [.init(FCMAnswer(.unavailable), times: 2)]),
          .init(prefix: "de", steps: [.init(FCMAnswer(.unregistered))]),
        ]
        $0.mix = [.init(.internal, probability: 1)]
      }
    ) { _, bench in
      let (client, authorization) = try await bench.authorized()
      var statuses: [Int] = []
      for token in ["abc", "abc", "abc", "dead", "dead", "other"] {
        let request = Request(token: token, authorization: authorization)
        statuses.append(try await client.send(request).status)
      }
      #expect(statuses == [503, 503, 200, 404, 404, 500])
      #expect(await bench.simulator.lastStatus(of: "dead") == 404)
    }
  }

  @Test func theProjectHasAQuotaAMinute() async throws {
    try await withSimulator(scripted { $0.quotaPerMinute = 3 }) { _, bench in
      let (client, authorization) = try await bench.authorized()
      var statuses: [Int] = []
      for number in 0..<5 {
        // A refusal counts, but not that for want of quota.
        let token = number == 0 ? MagicTokens.token(.unregistered) : "a\(number)"
        let request = Request(token: token, authorization: authorization)
        statuses.append(try await client.send(request).status)
      }
      #expect(statuses == [404, 200, 200, 429, 429])
    }
  }

  @Test func answersWaitForTheLatency() async throws {
    try await withSimulator(scripted { $0.latency = .milliseconds(30) }) { _, bench in
      let (client, authorization) = try await bench.authorized()
      let start = MonotonicClock.nowNanoseconds()
      #expect(
        try await client.send(Request(token: "a", authorization: authorization)).status == 200)
      #expect(MonotonicClock.nowNanoseconds() - start >= 30_000_000)
    }
  }
}
