import EventLoop
import Model
import Testing

@testable import Deliver

/// A fan-out that somebody has paused or cancelled beside one that goes on.
@Suite struct HaltTests {
  private func devices(_ count: Int) -> [(destination: Destination, token: String)] {
    hexadecimal(count).map { (.production, $0) }
  }

  @Test(arguments: [Halt.paused, .cancelled])
  func whatComesIsNotSent(halt: Halt) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      let tally = SegmentTally()
      tally.fanOut.halt = halt
      await bed.stage.admit(bed.batch(devices(10), tally))
      let other = SegmentTally()
      await bed.stage.admit(bed.batch(devices(3), other))
      await bed.until("both are over") { bed.settledBatches == 2 }
      #expect(other.accepted == 3 && bed.server.requests.count == 3)
      #expect(tally.stragglers.count == (halt == .paused ? 10 : 0))
      #expect(tally.cancelled == (halt == .cancelled ? 10 : 0) && tally.unsent == 0)
    }
  }

  /// What waits for a stream and what waits out a back-off ends at once; what is in flight is
  /// answered, and not tried again.
  @Test func whatIsCancelledHasItsOutcomeAtOnce() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.streamsPerConnection = 5
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      let isOpen = Flag(false)
      bed.server.decide = { request in
        if request.token == "001000" { return .answer(503) }
        return isOpen.value.load(ordering: .relaxed) ? .answer(200) : .silence
      }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(30), tally))
      await bed.until("all streams are taken") {
        bed.server.requests.count == 11 && bed.stage.inFlight == 10
      }
      tally.fanOut.halt = .cancelled
      bed.stage.settleAll(of: tally)
      #expect(tally.cancelled == 20 && tally.unsent == 0 && bed.settledBatches == 0)
      #expect(bed.server.requests.count == 11)
    }
  }

  /// Apple may have taken it: "cancelled" would be a lie.
  @Test func whatMayHaveArrivedIsNotCancelled() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      let tally = SegmentTally()
      tally.fanOut.halt = .cancelled
      let sent = PushHistory(tries: 1, losses: 0, refusals: 0, mayHaveArrived: true)
      await bed.stage.admit(bed.batch(devices(2), tally, history: sent))
      await bed.until("it is over") { bed.settledBatches == 1 }
      #expect(tally.cancelled == 0 && tally.rejections.map(\.reason) == [.unanswered])
      #expect(bed.server.requests.isEmpty)
    }
  }

  /// An answer that asks for another try comes after the word.
  @Test(arguments: [Halt.paused, .cancelled])
  func noOtherTryIsMade(halt: Halt) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      let tally = SegmentTally()
      bed.server.decide = { _ in
        tally.fanOut.halt = halt
        return .answer(503)
      }
      await bed.stage.admit(bed.batch(devices(1), tally))
      await bed.until("it is over") { bed.settledBatches == 1 }
      #expect(bed.server.requests.count == 1)
      #expect(tally.stragglers.count == (halt == .paused ? 1 : 0))
      #expect(tally.cancelled == (halt == .cancelled ? 1 : 0))
    }
  }
}
