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
      let tally = await bed.admitTwoThousand()
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
