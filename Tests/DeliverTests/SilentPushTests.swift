import EventLoop
import Model
import Testing

@testable import Deliver

/// Pushes that a server does not answer, or late, while it answers others.
@Suite struct SilentPushTests {
  private static let lostOnce = PushHistory(
    tries: 0, losses: 1, refusals: 0, mayHaveArrived: true)

  private func devices(_ count: Int) -> [(destination: Destination, token: String)] {
    hexadecimal(count).map { (.production, $0) }
  }

  private func late(_ count: Int) -> [String] {
    (0..<count).map { "00bad" + String($0, radix: 16) }
  }

  private func bed(_ loop: EventLoop) throws -> DeliverBed {
    try DeliverBed(loop) { $0.passedOverAfter = .milliseconds(50) }
  }

  /// None of the others is taken, and each has its answer.
  @Test func whereOthersAreOnlyRefusedOneIsGivenUpAllTheSame() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.passedOverAfter = .milliseconds(50)
        $0.requestTimeout = .seconds(2)
      }
      defer { bed.stop() }
      bed.server.decide = {
        $0.token == "00bad0" ? .silence : .answer(429, #"{"reason":"TooManyRequests"}"#)
      }
      let silent = SegmentTally()
      await bed.stage.admit(bed.batch([(.production, "00bad0")], silent))
      let limit = loop.now + 60_000_000_000
      while silent.settled == 0, loop.now < limit {
        await bed.stage.admit(bed.batch(devices(20), SegmentTally()))
        await loop.wait(.milliseconds(20))
      }
      #expect(silent.rejections.map(\.reason) == [.unanswered])
      #expect(bed.server.count("00bad0") <= 4)
    }
  }

  @Test func whatIsNeverAnsweredEnds() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.passedOverAfter = .milliseconds(50)
        $0.requestTimeout = .seconds(1)
      }
      defer { bed.stop() }
      let silent = late(5)
      bed.server.decide = { silent.contains($0.token) ? .silence : .answer(200) }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(30) + silent.map { (.production, $0) }, tally))
      let others = SegmentTally()
      var admitted = 0
      while tally.settled < 35, admitted < 200_000 {
        await bed.stage.admit(bed.batch(devices(10), others))
        admitted += 10
        await bed.until("others are accepted") { others.accepted == admitted }
      }
      #expect(tally.accepted == 30 && tally.rejections.map(\.reason) == [.unanswered])
      #expect(silent.allSatisfy { bed.server.count($0) == 3 })
      // Nobody closed a connection for their sake.
      #expect(bed.server.connections.count == 2)
    }
  }

  /// A probe without an answer holds up one connection. Others have others.
  @Test func aProbeWithoutAnAnswerHoldsNobodyUp() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      let silent = late(3)
      bed.server.decide = { silent.contains($0.token) ? .silence : .answer(200) }
      for token in silent {
        await bed.stage.admit(
          bed.batch([(.production, token)], SegmentTally(), history: Self.lostOnce))
      }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(40), tally, history: Self.lostOnce))
      await bed.until("accepted") { tally.accepted == 40 }
      #expect(bed.stage.inFlight == 3)
      #expect(silent.allSatisfy { bed.server.count($0) == 1 })
    }
  }

  /// Those that were lost go again in a moment; but not while the route is closed.
  @Test func whatWasLostStaysForAMoment() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop)
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == 2 }
      bed.server.decide = { _ in .silence }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(100), tally, history: Self.lostOnce))
      await bed.until("some are there") { bed.server.requests.count > 0 }
      bed.stage.postponeWaiting(of: tally)
      #expect(tally.stragglers.isEmpty && bed.stage.inFlight < 100)
      bed.stage.postponeAll(of: tally)
      #expect(tally.stragglers.count == 100 - bed.stage.inFlight)
    }
  }

  /// The answer has begun: it may be the last word, and then nothing is sent again.
  @Test func whatWasAnsweredWithoutAnEndIsNotCalledUnanswered() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.requestTimeout = .milliseconds(100) }
      defer { bed.stop() }
      bed.server.decide = { _ in .unfinished(200) }
      await bed.stage.admit(bed.batch(hexadecimal(20)))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 20 && bed.server.requests.count == 20)
      #expect(bed.notices.unanswered == 0)
    }
  }

  @Test func aRefusalThatBrokeOffIsNotTheLastWord() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = { [unowned server = bed.server] request in
        switch (request.token, server.count(request.token)) {
        case ("00bad0", 1): .broken(400)
        case ("00bad1", _): .broken(400)
        default: .answer(200)
        }
      }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch([(.production, "00bad0"), (.production, "00bad1")], tally))
      await bed.until("taken at last") { tally.accepted == 1 }
      let others = SegmentTally()
      var admitted = 0
      while tally.settled < 2, admitted < 200_000 {
        await bed.stage.admit(bed.batch(devices(10), others))
        admitted += 10
        await bed.until("others are accepted") { others.accepted == admitted }
      }
      #expect(tally.rejections.map(\.reason) == [.unanswered])
      #expect((10...25).contains(bed.server.count("00bad1")))
    }
  }
}
