import EventLoop
import HTTP2
import Model
import Testing

@testable import Deliver

/// A route under load has more connections than it began with, and then fewer again.
@Suite struct GrowingRouteTests {
  /// Everybody is sent to once: nothing is lost or doubled where connections come and go.
  @Test func itGrowsUnderLoadAndShrinksAfterIt() async throws {
    try await onLoop { _, loop in
      let trial = try GrowthBed(loop, shrinks: true)
      let (bed, server) = (trial.bed, trial.server)
      defer { bed.stop() }
      await bed.until("open") { trial.open == 1 }
      #expect(server.connections.count == 1)
      await trial.grow(to: 3)
      await trial.load("all are used", atMost: 2_000) {
        Set(server.requests.suffix(60).map(\.connection)).count == 3
      }
      await trial.settle()
      // By a moment of calm it may have begun to.
      while trial.wanted > 1 {
        let before = trial.wanted
        trial.route.tick()
        #expect(trial.wanted == before - 1)
        guard trial.wanted < before else { break }
      }
      trial.route.tick()
      await bed.until("closed") { server.open.count == 1 && trial.open == 1 }
      // The server was told, and nobody was in need.
      #expect(server.connections.count { $0.heardGoodbye } == server.connections.count - 1)
      #expect(bed.notices.ends == [] && trial.sizes.prefix(1) == [2] && trial.sizes.contains(3))
      await trial.grow(to: 2)
      await trial.settle()
    }
  }

  /// What is in flight on it is answered first.
  @Test func oneThatGoesFinishesWhatItHas() async throws {
    try await onLoop { _, loop in
      let trial = try GrowthBed(loop, most: 2, shrinks: true)
      let (bed, server) = (trial.bed, trial.server)
      defer { bed.stop() }
      await trial.grow(to: 2)
      await trial.settle()
      let last = server.connections[1]
      server.holdsAnswers = true
      // They take turns.
      for token in ["aa", "bb", "cc", "dd"] {
        await bed.stage.admit(bed.batch([token]))
        await bed.until("there") { server.requests.last?.token == token }
      }
      #expect(server.requests.suffix(4).contains { $0.connection == 1 })
      trial.route.tick()
      #expect(trial.open == 1 && !last.isClosed && bed.tally.accepted == bed.tally.pushes - 4)
      server.release()
      await trial.settle()
      await bed.until("closed") { last.isClosed }
    }
  }

  /// Why a route that is busy may not need another connection.
  enum Reason: CaseIterable {
    /// The server takes a part.
    case refusals
    /// Connections are lost often.
    case losses
    /// It has streams for all.
    case streams
  }

  @Test(arguments: Reason.allCases) func itDoesNotGrow(for reason: Reason) async throws {
    try await onLoop { _, loop in
      let trial = try GrowthBed(loop, most: 60) {
        if reason == .streams { $0.streamsPerConnection = 1_000 }
        $0.tickInterval = .milliseconds(500)
      }
      let bed = trial.bed
      defer { bed.stop() }
      disturb(bed, for: reason)
      await trial.load("it is known") { isKnown(reason, trial.route) }
      let before = trial.wanted
      // As long as it holds: by chance a server may be in order for a while.
      await trial.load("two thousand more", atMost: 4_000) {
        trial.wanted > before || bed.tally.settled >= 2_000 || !isKnown(reason, trial.route)
      }
      #expect(before < 60 && (trial.wanted <= before || !isKnown(reason, trial.route)))
    }
  }

  private func disturb(_ bed: DeliverBed, for reason: Reason) {
    var count = 0
    bed.server.decide = { [unowned server = bed.server] request in
      count += 1
      let connection = server.connections[request.connection]
      switch reason {
      case .refusals where count % 2 == 0: return .answer(503)
      case .losses where count % 60 == 0: connection.drop()
      default: break
      }
      return .answer(200)
    }
  }

  private func isKnown(_ reason: Reason, _ route: Route) -> Bool {
    switch reason {
    case .refusals: route.traffic.overload.rate != nil
    case .losses: route.traffic.isCareful
    case .streams: true
    }
  }

  /// What waits while connections have room waits for something else: here for it to be known that
  /// the server is in order.
  @Test func aConnectionWithRoomIsEnough() async throws {
    try await onLoop { _, loop in
      let trial = try GrowthBed(loop) { $0.streamsPerConnection = 1_000 }
      let (bed, route) = (trial.bed, trial.route)
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(hexadecimal(10)))
      await bed.until("taken") { bed.tally.accepted == 10 }
      bed.server.holdsAnswers = true
      await bed.stage.admit(bed.batch((0..<500).map { "01" + String($0 + 4096, radix: 16) }))
      await bed.until("some are sent") { bed.stage.inFlight > 0 }
      route.tick()
      #expect(route.queue.waitsForStreams && trial.wanted == 1)
      bed.server.release()
      await trial.settle()
    }
  }

  /// While the worker leaves, the connections that are there are all there will be.
  @Test func aWorkerThatStopsOpensNone() async throws {
    try await onLoop { _, loop in
      let trial = try GrowthBed(loop)
      let (bed, server) = (trial.bed, trial.server)
      defer { bed.stop() }
      await trial.load("taken", atMost: 1_000) { bed.tally.accepted > 0 }
      let (before, accepted) = (trial.wanted, bed.tally.accepted)
      server.delay = nil
      server.holdsAnswers = true
      await bed.stage.admit(bed.batch(hexadecimal(100)))
      await bed.until("full") { bed.stage.inFlight >= 10 * before }
      bed.stage.leave()
      for _ in 0..<10 { trial.route.tick() }
      #expect(accepted > 0 && trial.wanted == before && bed.tally.accepted < bed.tally.pushes)
      server.release()
    }
  }
}
