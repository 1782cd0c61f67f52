import EventLoop
import Model
import Testing

@testable import Deliver

/// Pushes that were in flight in a lost connection, of a topic whose credentials are in doubt.
@Suite struct HeldProbeTests {
  private static let invalid = FakeServer.Reply.answer(403, #"{"reason":"InvalidProviderToken"}"#)
  private static let lostOnce = PushHistory(
    tries: 0, losses: 1, refusals: 0, mayHaveArrived: true)

  private func devices(_ count: Int) -> [(destination: Destination, token: String)] {
    hexadecimal(count).map { (.production, $0) }
  }

  /// There is nobody else who would.
  @Test(arguments: [1, 30])
  func theyAskThemselvesWhetherCredentialsAreTaken(count: Int) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.credentialHold = .milliseconds(50) }
      defer { bed.stop() }
      let route = try #require(bed.stage.routes[.production])
      bed.server.decide = { _ in Self.invalid }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(count), tally, history: Self.lostOnce))
      await bed.until("in doubt") { route.queue.topics.first?.gate.isOpen == false }
      bed.server.decide = { _ in .answer(200) }
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.accepted == count && bed.stage.obstacles == [])
    }
  }

  /// Those that were refused wait for the end of the hold; one that was not asks before.
  @Test func oneThatWasNeverRefusedDoesNotWaitOutAHold() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.credentialHold = .seconds(3600) }
      defer { bed.stop() }
      bed.server.decide = { $0.token == "00bad0" ? Self.invalid : .answer(200) }
      let refused = SegmentTally()
      await bed.stage.admit(
        bed.batch([(.production, "00bad0")], refused, history: Self.lostOnce))
      await bed.until("held") { bed.stage.obstacles.count == 1 }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(20), tally, history: Self.lostOnce))
      await bed.until("accepted") { tally.accepted == 20 }
      #expect(bed.stage.obstacles == [])
    }
  }

  /// The hold is over, those that ask have no answer: the lane has better to do than to look.
  @Test func whoWaitsIsLookedAtNowAndThen() async throws {
    try await onLoop { _, loop in
      let looks = Looks()
      let bed = try DeliverBed(loop) {
        $0.credentialHold = .milliseconds(50)
        looks.count(&$0)
      }
      defer { bed.stop() }
      let route = try #require(bed.stage.routes[.production])
      bed.server.decide = { _ in Self.invalid }
      let refused = SegmentTally()
      await bed.stage.admit(bed.batch(devices(30), refused))
      await bed.until("held") { bed.stage.obstacles.count == 1 }
      bed.server.decide = { _ in .silence }
      bed.stage.abandon(refused)
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(30), tally, history: Self.lostOnce))
      await bed.until("the hold is over") {
        route.queue.topics.first?.gate.opensAt.map { $0 < loop.now } ?? true
      }
      let before = looks.soFar
      await loop.wait(.milliseconds(600))
      // Thirty pushes at most, and the ticks, twice a second.
      #expect(looks.soFar - before < 400)
      #expect(bed.stage.inFlight > 0 && tally.settled == 0)
    }
  }
}
