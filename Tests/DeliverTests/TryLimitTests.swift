import EventLoop
import HTTP2
import Model
import Testing

@testable import Deliver

/// How often a push is tried, and when.
@Suite struct TryLimitTests {
  private func devices(_ count: Int) -> [(destination: Destination, token: String)] {
    hexadecimal(count).map { (.production, $0) }
  }

  private func settle(
    _ reply: FakeServer.Reply, of count: Int, history: PushHistory = PushHistory()
  ) async throws -> (requests: Int, rejections: [RejectionReason], accepted: Int) {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = { $0.token == "00bad0" ? reply : .answer(200) }
      var requests: Int { bed.server.count("00bad0") }
      let others = SegmentTally()
      let tally = SegmentTally()
      // So many are taken that ten failures are rare, however slowly the others come.
      await bed.stage.admit(bed.batch(devices(200), others))
      await bed.until("the server is known to be in order") { others.accepted == 200 }
      await bed.stage.admit(bed.batch([(.production, "00bad0")], tally, history: history))
      var expected = 200
      while tally.settled == 0, requests < 100 {
        let tries = requests
        await bed.stage.admit(bed.batch(devices(count), others))
        expected += count
        await bed.until("the others are accepted") { others.accepted == expected }
        await bed.until("it is tried again") {
          tally.settled > 0 || requests > tries
        }
      }
      return (requests, tally.rejections.map(\.reason), others.accepted)
    }
  }

  @Test func tooManyRequestsOfOneDeviceEnd() async throws {
    let result = try await settle(.answer(429, #"{"reason":"TooManyRequests"}"#), of: 10)
    #expect(result.requests == 10 && result.rejections == [.tooManyRequests])
  }

  /// Where a part of all is told to come again, that says nothing of a device.
  @Test func tooManyRequestsOfManyEndNone() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      // Of the others every second is refused once.
      bed.server.decide = { [unowned server = bed.server] request in
        if request.token == "00bad0" { return .answer(server.count("00bad0") < 16 ? 429 : 200) }
        let isRefused = request.token.hasSuffix("1") && server.count(request.token) == 1
        return .answer(isRefused ? 429 : 200)
      }
      let (others, tally) = (SegmentTally(), SegmentTally())
      var expected = 0
      while tally.settled == 0, expected < 100_000 {
        let tokens = (expected..<expected + 40).map {
          String($0 / 2 + 4096, radix: 16) + ($0 % 2 == 0 ? "0" : "1")
        }
        await bed.stage.admit(bed.batch(tokens.map { (.production, $0) }, others))
        expected += 40
        await bed.until("the others are accepted") { others.accepted == expected }
        if expected == 400 { await bed.stage.admit(bed.batch([(.production, "00bad0")], tally)) }
      }
      #expect(tally.accepted == 1 && bed.server.count("00bad0") == 16)
    }
  }

  @Test func whatOtherSegmentsTriedCounts() async throws {
    let history = PushHistory(
      tries: 8, losses: 0, refusals: 0, mayHaveArrived: false, suspicion: 8 * PushHistory.wholeTry)
    let result = try await settle(.answer(429), of: 10, history: history)
    #expect(result.requests == 2 && result.rejections == [.tooManyRequests])
  }

  /// A try counts when others were taken since the one before, which is up to the order of answers.
  @Test func aServersErrorsForOnePushEndWhileOthersAreTaken() async throws {
    let result = try await settle(.answer(500), of: 10)
    #expect(result.requests >= 10 && result.rejections == [.internalServerError])
  }

  @Test func streamsThatAreBrokenForOnePushEnd() async throws {
    let broken = try await settle(.reset(HTTP2ErrorCode.internalError), of: 10)
    #expect(broken.requests >= 10 && broken.rejections == [.unanswered])
  }

  /// Also what was no fault of the push, and though another segment sends it now.
  @Test(arguments: [FakeServer.Reply.answer(503), .reset(HTTP2ErrorCode.refusedStream)])
  func everyFurtherSendIsCounted(reply: FakeServer.Reply) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      bed.server.decide = { _ in reply }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(20), tally))
      await bed.until("all are refused") {
        bed.server.requests.count == 20 && bed.stage.inFlight == 0
      }
      bed.stage.postponeWaiting(of: tally)
      let history = try #require(tally.stragglers.first?.history)
      #expect(tally.retried == 0 && tally.stragglers.count == 20 && !history.isEmpty)
      bed.server.decide = { _ in .answer(200) }
      let later = SegmentTally()
      await bed.stage.admit(bed.batch(devices(20), later, history: history))
      await bed.until("all are taken") { later.accepted == 20 }
      #expect(later.retried == 20)
    }
  }

  /// Nobody has looked at it, so that no number of refusals says anything about it.
  @Test func aPushWhoseStreamIsAlwaysRefusedExpires() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = {
        $0.token == "00bad0" ? .reset(HTTP2ErrorCode.refusedStream) : .answer(200)
      }
      let others = SegmentTally()
      await bed.stage.admit(bed.batch(devices(200), others))
      await bed.until("the others are accepted") { others.accepted == 200 }
      await bed.stage.admit(bed.batch(["00bad0"], expiresIn: 60_000))
      await bed.until("it is tried often") { bed.server.count("00bad0") > 15 }
      #expect(bed.tally.settled == 0)
      bed.clock.advance(60_000)
      await bed.until("settled") { bed.tally.settled == 1 }
      #expect(bed.tally.expired == 1 && bed.tally.rejections.isEmpty)
    }
  }

  @Test func aServersErrorsForEverybodyAreNobodysFault() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = { [unowned server = bed.server] in
        server.count($0.token) <= 20 ? .answer(503) : .answer(200)
      }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch([(.production, "00aa")], tally))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.accepted == 1 && bed.server.requests.count == 21)
    }
  }

  @Test func aServerIsAskedAgainWhenItWantsToBe() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      var times: [UInt64] = []
      bed.server.decide = { _ in
        times.append(loop.now)
        return times.count == 1 ? .fields(503, [("retry-after", "1")]) : .answer(200)
      }
      await bed.stage.admit(bed.batch(["00aa"]))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(times.count == 2)
      // The back-off alone is 2 ms.
      #expect(times[1] - times[0] >= 1_000_000_000)
    }
  }

  /// The delay would end after the expiry by far: one more try comes just before it.
  @Test func theLastTryComesJustBeforeTheExpiry() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.retry = RetryPolicy(initial: .milliseconds(400), maximum: .seconds(30))
      }
      defer { bed.stop() }
      var times: [UInt64] = []
      bed.server.decide = { _ in
        times.append(loop.now)
        return times.count == 1 ? .fields(503, [("retry-after", "30")]) : .answer(200)
      }
      await bed.until("open") { bed.stage.openConnections == 2 }
      await bed.stage.admit(bed.batch(["00aa"], expiresIn: 1_000))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 1 && times.count == 2)
      // The first back-off before the expiry.
      #expect(times[1] - times[0] >= 550_000_000)
    }
  }
}
