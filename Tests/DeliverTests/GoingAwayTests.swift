import EventLoop
import HTTP2
import Model
import Testing

@testable import Deliver

/// A server that goes away after some requests, whatever they are: nobody waits for it.
@Suite struct GoingAwayTests {
  /// A push without an answer keeps its connection until it is given up: nobody waits for that.
  @Test func oneSilentPushOnEachConnectionHoldsNobodyUp() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.passedOverAfter = .seconds(600) }
      defer { bed.stop() }
      bed.server.goAwayAfterFifty()
      bed.server.decide = { $0.stream == 1 || $0.stream > 99 ? .silence : .answer(200) }
      let tally = SegmentTally()
      for _ in 0..<4 {
        await bed.stage.admit(bed.batch(hexadecimal(500).map { (.production, $0) }, tally))
      }
      await bed.until("all but one of each are accepted") {
        tally.accepted == 2000 - bed.server.connections.count { $0.lastStream > 0 }
      }
      #expect(bed.stage.inFlight == 2000 - tally.accepted && bed.stage.inFlight >= 40)
      #expect(bed.notices.disconnects == 0)
      let counts = bed.stage.connectionCounts
      #expect(counts[.goAway] >= 38 && counts.opened >= counts[.goAway])
      #expect(counts[.lost] == 0 && counts[.unreachable] == 0 && counts[.retired] == 0)
    }
  }

  /// What is sent behind the last that such a server looks at goes once more: the next connection
  /// is sent about as many as the last one took.
  @Test func aServerThatGoesAwayIsSentAboutWhatItTakes() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.connectionsPerRoute = 1
        $0.retry = RetryPolicy(initial: .seconds(100), maximum: .seconds(100))
      }
      defer { bed.stop() }
      bed.server.goAwayAfterFifty()
      let tally = SegmentTally()
      for _ in 0..<4 {
        await bed.stage.admit(bed.batch(hexadecimal(500).map { (.production, $0) }, tally))
      }
      await bed.until("all settled") { bed.settledBatches == 4 }
      #expect(tally.accepted == 2000)
      // The first had some 250 behind it, by Apple's window.
      let behind = bed.server.requests.count { $0.stream > 99 }
      #expect(behind <= 500 + 40 * 8, "\(behind)")
    }
  }

  @Test func aConnectionIsSentLittleUntilItHasCarriedAsMuch() throws {
    var place = ConnectionPlace()
    #expect(place.loadAtFirst == nil)
    for (taken, load) in [(100, 112), (5, 22), (nil, nil)] as [(Int?, Int?)] {
      place.expect(taken: taken)
      #expect(place.loadAtFirst == load)
    }
    let slots = StreamSlots(ConnectionLoad(most: 500, first: 112))
    #expect(slots.capacity == 500 && slots.limit == 112)
    slots.liftLimit()
    #expect(slots.limit == 500)
    #expect(StreamSlots(ConnectionLoad(most: 500)).limit == 500)
  }
}

extension FakeServer {
  /// As Node's http2 does; it looks at none that come behind these.
  func goAwayAfterFifty() {
    afterRequests = { connection in
      if connection.lastStream >= 99, !connection.isGoingAway {
        connection.goAway(lastStream: 99)
      }
    }
    decide = { $0.stream > 99 ? .silence : .answer(200) }
  }
}
