import EventLoop
import Model
import Testing

@testable import Deliver

/// `SegmentTally.unsent` on every way that a push can take: it ends at 0, or its segment keeps its
/// place for ever.
@Suite struct UnsentTests {
  private func devices(_ count: Int) -> [(destination: Destination, token: String)] {
    hexadecimal(count).map { (.production, $0) }
  }

  @Test func countsWhatWasNeverSentAndTellsWhenNothingIsLeft() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.streamsPerConnection = 10 }
      defer { bed.stop() }
      bed.server.decide = { _ in .silence }
      let tally = SegmentTally()
      var isTold = false
      tally.whenNothingIsUnsent = { isTold = true }
      await bed.stage.admit(bed.batch(devices(25), tally))
      #expect(tally.unsent == 25)
      await bed.until("twenty in flight") { bed.stage.inFlight == 20 }
      #expect(tally.unsent == 5 && !isTold)
      bed.stage.postponeWaiting(of: tally)
      #expect(tally.stragglers == [] && tally.unsent == 5)
      bed.stage.abandon(tally)
      #expect(tally.unsent == 0 && isTold)
      #expect(bed.stage.readyCount == 0 && tally.stragglers == [])
    }
  }

  @Test func everyAnswerEndsAtZero() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.credentialHold = .milliseconds(5) }
      defer { bed.stop() }
      let kinds: [FakeServer.Reply] = [
        .answer(200), .answer(429, #"{"reason":"TooManyRequests"}"#), .answer(503),
        .answer(410, #"{"reason":"Unregistered","timestamp":1}"#), .answer(403), .reset(7),
        .reset(2), .answer(400, #"{"reason":"BadDeviceToken"}"#),
      ]
      var number = 0
      bed.server.decide = { _ in
        number += 1
        return kinds[number * 7 % 8]
      }
      let tallies = (0..<5).map { _ in SegmentTally() }
      for tally in tallies {
        await bed.stage.admit(bed.batch(devices(100), tally))
        await bed.stage.admit(bed.batch(devices(100), tally, topic: "another"))
      }
      await bed.until("all settled") { bed.settledBatches == 10 }
      for tally in tallies { #expect(tally.unsent == 0 && tally.settled == 200) }
    }
  }

  @Test func expiryEndsAtZero() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 0 })
      defer { bed.stop() }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(100), tally, expiresIn: 1_000))
      #expect(tally.unsent == 100)
      bed.clock.advance(1_000)
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.expired == 100 && tally.unsent == 0)
      #expect(bed.server.requests.isEmpty)
    }
  }

  @Test func whatWaitsForAnotherTryIsPostponedWithItsHistory() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      bed.server.decide = { $0.token.hasSuffix("1") ? .answer(429) : .answer(200) }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(32), tally))
      await bed.until("answered") { tally.accepted == 30 && bed.stage.inFlight == 0 }
      #expect(bed.settledBatches == 0 && tally.unsent == 0)
      bed.stage.postponeWaiting(of: SegmentTally())
      #expect(tally.stragglers == [])
      bed.stage.postponeWaiting(of: tally)
      #expect(bed.settledBatches == 1)
      let once = PushHistory(
        tries: 1, losses: 0, refusals: 0, mayHaveArrived: false, suspicion: PushHistory.wholeTry)
      #expect(tally.stragglers.map(\.history) == [once, once])
      #expect(tally.pushes == 30 && tally.settled == 30)
      #expect(tally.obstacle == nil)
    }
  }

  @Test func nothingIsSentOfASegmentWhoseTimeIsOver() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      let tally = SegmentTally()
      tally.sendableUntil = loop.now
      await bed.stage.admit(bed.batch(devices(10), tally))
      await bed.until("looked at") { tally.unsent == 0 }
      await bed.until("open") { bed.stage.openConnections == 2 }
      let other = SegmentTally()
      await bed.stage.admit(bed.batch(devices(10), other))
      await bed.until("the other's are sent") { other.accepted == 10 }
      #expect(bed.server.requests.count == 10 && tally.settled == 0)
      tally.sendableUntil = .max
      await bed.until("sent") { tally.accepted == 10 }
      #expect(tally.unsent == 0)
    }
  }

  @Test func whatIsInFlightOfAnAbandonedSegmentRunsOutAndIsNotTriedAgain() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.holdsAnswers = true
      bed.server.decide = { $0.token.hasSuffix("1") ? .answer(429) : .answer(200) }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(32), tally))
      await bed.until("in flight") { bed.server.requests.count == 32 }
      bed.stage.abandon(tally)
      bed.server.release()
      await bed.until("run out") { bed.stage.inFlight == 0 }
      let other = SegmentTally()
      bed.server.decide = { _ in .answer(200) }
      await bed.stage.admit(bed.batch(devices(64), other))
      await bed.until("the other's are done") { other.accepted == 64 }
      #expect(bed.server.requests.count == 96)
      #expect(tally.accepted == 30 && tally.settled == 30 && tally.stragglers == [])
    }
  }
}
