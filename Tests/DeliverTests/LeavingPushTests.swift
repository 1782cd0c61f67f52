import EventLoop
import Model
import Testing

@testable import Deliver

/// A worker that stops soon: what has no outcome leaves as stragglers.
@Suite struct LeavingPushTests {
  private func devices(_ count: Int) -> [(destination: Destination, token: String)] {
    hexadecimal(count).map { (.production, $0) }
  }

  @Test func whatIsInFlightLeavesAsWhatMayHaveArrivedAndIsNotSuspect() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = { $0.token == "001000" ? .answer(200) : .silence }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(10), tally))
      await bed.until("there") { bed.server.requests.count == 10 && tally.accepted == 1 }
      bed.stage.leave()
      bed.stage.leaveInFlight()
      #expect(bed.settledBatches == 1 && bed.stage.inFlight == 0)
      let unknown = PushHistory(tries: 0, losses: 0, refusals: 0, mayHaveArrived: true)
      #expect(tally.stragglers.map(\.history) == Array(repeating: unknown, count: 9))
    }
  }

  /// What was never sent, what waits for another try and what may be why a connection was lost.
  @Test func allThatIsNotInFlightLeaves() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.streamsPerConnection = 5
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      bed.server.decide = { $0.token == "001000" ? .answer(503) : .silence }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(30), tally))
      await bed.until("all streams are taken") {
        bed.server.requests.count == 11 && bed.stage.inFlight == 10
      }
      #expect(tally.unsent == 19)
      var whenNothingIsUnsent = 0
      tally.whenNothingIsUnsent = { whenNothingIsUnsent += 1 }
      bed.stage.postponeAll(of: SegmentTally())
      #expect(tally.unsent == 19 && tally.stragglers.isEmpty)
      bed.stage.postponeAll(of: tally)
      #expect(tally.unsent == 0 && whenNothingIsUnsent == 1 && bed.stage.inFlight == 10)
      #expect(tally.stragglers.count == 20)
      #expect(tally.stragglers.count { $0.history.isEmpty } == 19)
      #expect(tally.stragglers.count { $0.history.tries == 1 } == 1)
      bed.stage.leave()
      bed.stage.leaveInFlight()
      #expect(tally.stragglers.count == 30 && bed.settledBatches == 1)
    }
  }

  /// Not even when connections end, and what was sent on them is put back.
  @Test func nothingIsSentAnyMore() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.streamsPerConnection = 5
        $0.readyPushes = 10
        $0.retry = RetryPolicy(initial: .milliseconds(1), maximum: .milliseconds(1))
      }
      defer { bed.stop() }
      bed.server.decide = { _ in .silence }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(30), tally))
      await bed.until("all streams are taken") { bed.stage.inFlight == 10 }
      bed.stage.leave()
      bed.stage.postponeAll(of: tally)
      #expect(tally.stragglers.count == 20)
      let connections = bed.server.connections.count
      // There is no room for it; nobody waits for that.
      let late = SegmentTally()
      await bed.stage.admit(bed.batch(devices(30), late))
      #expect(late.stragglers.count == 30 && late.unsent == 0)
      bed.stage.leaveInFlight()
      #expect(tally.stragglers.count == 30 && bed.stage.inFlight == 0)
      // A lost connection is replaced within a millisecond here.
      var isLater = false
      loop.schedule(after: .milliseconds(200)) { isLater = true }
      await bed.until("it is later") { isLater }
      #expect(bed.server.requests.count == 10 && bed.server.connections.count == connections)
    }
  }

  /// Its outcomes are another worker's: nothing of it is counted or written here.
  @Test func whatWasAbandonedDoesNotLeave() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = { _ in .silence }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(10), tally))
      await bed.until("there") { bed.server.requests.count == 10 }
      bed.stage.abandon(tally)
      bed.stage.leave()
      bed.stage.leaveInFlight()
      #expect(tally.stragglers.isEmpty && tally.settled == 0 && bed.settledBatches == 0)
    }
  }
}
