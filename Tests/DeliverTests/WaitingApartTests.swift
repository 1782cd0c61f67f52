import EventLoop
import Model
import Testing

@testable import Deliver

/// What waits for a connection of its own is like all that is ready.
@Suite struct WaitingApartTests {
  private func route(_ bed: DeliverBed) throws -> Route {
    try #require(bed.stage.routes[.production])
  }

  enum End: CaseIterable { case pause, cancel, leave, expiry, abandonment }

  /// A bed with a hundred pushes that wait for a connection which nobody lets pass.
  private func waiting(_ loop: EventLoop, _ tally: SegmentTally) async throws -> DeliverBed {
    let bed = try DeliverBed(loop)
    await bed.until("open") { bed.stage.openConnections == 2 }
    bed.server.maximumConnections = 2
    let route = try route(bed)
    route.traffic.isolation.begin(at: loop.now)
    await bed.stage.admit(bed.batch(hexadecimal(100).map { (.production, $0) }, tally))
    await bed.until("apart") { route.topics.apartCount == 100 }
    return bed
  }

  @Test(arguments: End.allCases)
  func whatWaitsApartEndsLikeAllOthers(end: End) async throws {
    try await onLoop { _, loop in
      let tally = SegmentTally()
      let bed = try await waiting(loop, tally)
      defer { bed.stop() }
      let route = try route(bed)
      // It is to be sent, and does not leave for others' sake.
      bed.stage.postponeWaiting(of: tally)
      #expect(tally.unsent == 100 && bed.stage.readyCount == 100 && tally.stragglers.isEmpty)
      switch end {
      case .pause:
        tally.fanOut.brake = .paused
        bed.stage.postponeAll(of: tally)
        #expect(tally.stragglers.count == 100)
      case .cancel:
        tally.fanOut.brake = .cancelled
        bed.stage.settleAll(of: tally)
        #expect(tally.cancelled == 100)
      case .leave:
        bed.stage.leave()
        bed.stage.postponeAll(of: tally)
        #expect(tally.stragglers.count == 100)
      case .expiry:
        bed.clock.advance(700_000)
        route.tick()
        #expect(tally.expired == 100)
      case .abandonment:
        bed.stage.abandon(tally)
        #expect(tally.stragglers.isEmpty && tally.settled == 0)
      }
      #expect(tally.unsent == 0 && bed.stage.readyCount == 0 && bed.server.requests.isEmpty)
    }
  }

  /// Where a fan-out is paused and nobody takes its pushes out, none of them is sent.
  @Test func nothingPausedIsSentApart() async throws {
    try await onLoop { _, loop in
      let tally = SegmentTally()
      let bed = try await waiting(loop, tally)
      defer { bed.stop() }
      tally.fanOut.brake = .paused
      bed.server.maximumConnections = .max
      await bed.until("left") { tally.stragglers.count == 100 }
      #expect(tally.unsent == 0 && bed.server.requests.isEmpty)
    }
  }

  /// Credentials that are refused are asked about as ever.
  @Test func inDoubtOfCredentialsNobodyIsApart() async throws {
    try await onLoop { _, loop in
      let tally = SegmentTally()
      let bed = try await waiting(loop, tally)
      defer { bed.stop() }
      let route = try route(bed)
      let topic = try #require(route.topics.find("a.b"))
      _ = topic.gate.refused(refusals: 1, sentAt: loop.now, at: loop.now, hold: 1)
      route.tick()
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.accepted == 100 && tally.unsent == 0)
    }
  }
}
