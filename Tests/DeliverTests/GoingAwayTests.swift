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
      let tally = await bed.admitTwoThousand()
      await bed.until("all settled") { bed.settledBatches == 4 }
      #expect(tally.accepted == 2000)
      // The first had some 250 behind it, by Apple's window.
      let behind = bed.server.requests.count { $0.stream > 99 }
      #expect(behind <= 500 + 40 * 8, "\(behind)")
    }
  }

  /// Its bound is lifted then.
  @Test func aConnectionIsSentLittleUntilItHasCarriedAsMuch() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.connectionsPerRoute = 1 }
      defer { bed.stop() }
      let pool = try #require(bed.stage.routes[.production]).pool
      bed.server.goAwayAfterFifty()
      let most = StreamCapacity.streams(forAll: 500)
      await bed.until("open") { bed.stage.openConnections == 1 }
      #expect(pool.places[0].connection?.streams == most && pool.places.loadAtFirst == nil)
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(hexadecimal(120).map { (.production, $0) }, tally))
      await bed.until("sent twice") { bed.server.connections.count >= 3 }
      await bed.until("settled") { tally.accepted == 120 }
      // 50 and an eighth; the third had twenty.
      #expect(pool.places.loadAtFirst == 56 && pool.places[0].connection?.streams == 56)
      bed.server.afterRequests = { _ in }
      bed.server.decide = { _ in .answer(200) }
      await bed.stage.admit(bed.batch(hexadecimal(120).map { (.production, $0) }, SegmentTally()))
      await bed.until("lifted") { pool.places[0].connection?.streams == most }
    }
  }

  /// The first of two GOAWAYs names no stream (RFC 9113, section 6.8): the second says it.
  @Test func whatTheSecondGoawayLeavesOutIsLearnt() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.connectionsPerRoute = 1 }
      defer { bed.stop() }
      bed.server.goAwayAfterFifty()
      bed.server.afterRequests = { connection in
        if connection.lastStream >= 99, !connection.isGoingAway {
          connection.goAway(lastStream: .max)
          connection.goAway(lastStream: 99)
        }
      }
      let pool = try #require(bed.stage.routes[.production]).pool
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(hexadecimal(200).map { (.production, $0) }, tally))
      await bed.until("settled") { tally.accepted == 200 }
      #expect(pool.places.loadAtFirst == 56)
    }
  }

  @Test func aBoundIsNoMoreThanAConnectionTakes() {
    let slots = StreamSlots(ConnectionLoad(most: 48, first: 112))
    #expect(slots.capacity == 48 && slots.limit == 48)
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
