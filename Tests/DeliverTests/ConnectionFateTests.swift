import EventLoop
import HTTP2
import Model
import Testing

@testable import Deliver

/// What a server may do to its connections.
@Suite struct ConnectionFateTests {
  /// Also when more comes behind the GOAWAY than a session puts up with.
  @Test(arguments: [0, 1000])
  func sendsAtOnceElsewhereWhatAGoAwaySaysWasNotLookedAt(pings: Int) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.connectionsPerRoute = 1
        $0.retry = RetryPolicy(initial: .seconds(60), maximum: .seconds(60))
      }
      defer { bed.stop() }
      // While one is open, a session goes on to read.
      bed.server.decide = {
        $0.stream < 121 || pings == 0 && $0.stream == 121 ? .answer(200) : .silence
      }
      bed.server.afterRequests = { connection in
        if connection.number == 0, connection.lastStream > 121 {
          connection.goAway(lastStream: 121, pings: pings)
        }
      }
      await bed.until("connected") { bed.stage.openConnections == 1 }
      await bed.stage.admit(bed.batch(hexadecimal(120)))
      await bed.until("all settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 120)
      // No back-off: neither for the pushes nor, since it had answered enough, for the connection;
      // one would have been longer than the wait above.
      let twice = Dictionary(grouping: bed.server.requests, by: \.token).values.filter {
        $0.count > 1
      }
      #expect(twice.allSatisfy { $0.count == 2 && $0[0].stream >= 121 })
      // It is the one that was open.
      #expect(twice.count > 1 && bed.tally.retried == twice.count)
    }
  }

  @Test func doesNotRunInCirclesWithAServerThatGoesAwayAfterEachRequest() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 1 }) {
        $0.connectionsPerRoute = 1
      }
      defer { bed.stop() }
      bed.server.afterRequests = { $0.goAway(lastStream: $0.lastStream) }
      await bed.stage.admit(bed.batch(hexadecimal(20)))
      await bed.until("all settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 20)
      #expect(bed.server.requests.count == 20)
      #expect(bed.notices.count { if case .goingAway = $0 { true } else { false } } >= 19)
    }
  }

  @Test func waitsWhileTheServerTakesNoStream() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.maximumConcurrentStreams = 0 })
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(hexadecimal(100)))
      await bed.until("open") { bed.stage.openConnections == 2 }
      await loop.wait(.milliseconds(20))
      #expect(bed.server.requests.isEmpty)
      for limit in [3, 0, 5] {
        let before = bed.tally.accepted
        bed.server.decide = { _ in .answer(200) }
        for connection in bed.server.open {
          connection.session?.setMaximumConcurrentStreams(limit)
          connection.flush()
        }
        guard limit > 0 else { continue }
        await bed.until("some sent") { bed.tally.accepted > before || bed.settledBatches == 1 }
      }
      await bed.until("all settled") { bed.settledBatches == 1 }
      #expect(bed.server.requests.count == 100)
    }
  }

  @Test func waitsForWindowsOfNothing() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.options.limits.streamWindowBytes = 0 })
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(hexadecimal(100)))
      await bed.until("begun") { bed.stage.inFlight > 0 }
      await loop.wait(.milliseconds(20))
      #expect(bed.server.requests.isEmpty)
      for window in [1, 7, 0, 100] {
        for connection in bed.server.open {
          connection.session?.setStreamWindow(window)
          connection.flush()
        }
      }
      await bed.until("all settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 100)
      #expect(bed.server.requests.count == 100)
    }
  }

  @Test func leavesAServerThatNeverSendsItsSettings() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, prepare: { $0.speaks = false }) {
        $0.connectTimeout = .milliseconds(300)
        $0.connectionsPerRoute = 1
      }
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(["00aa"]))
      await bed.until("gave up") { bed.notices.disconnects >= 1 }
      bed.server.speaks = true
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 1)
    }
  }

  @Test func givesUpOnStreamsWithoutAnAnswerAndSendsThemAgain() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.requestTimeout = .milliseconds(100) }
      defer { bed.stop() }
      bed.server.decide = { [unowned server = bed.server] in
        server.count($0.token) == 1 ? .silence : .answer(200)
      }
      await bed.stage.admit(bed.batch(hexadecimal(30)))
      await bed.until("all settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 30)
      #expect(bed.server.requests.count >= 60)
    }
  }

  /// PINGs are answered; that is no use to anybody.
  @Test func leavesAConnectionThatAnswersNoPush() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.requestTimeout = .milliseconds(100)
        $0.connectionsPerRoute = 1
      }
      defer { bed.stop() }
      bed.server.decide = { $0.connection == 0 ? .silence : .answer(200) }
      await bed.stage.admit(bed.batch(hexadecimal(30)))
      await bed.until("all settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 30)
      await bed.until("it is left") { bed.notices.ends.contains("no answer to any push") }
    }
  }

  @Test func leavesAConnectionThatAnswersNoPing() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.pingInterval = .milliseconds(50)
        $0.pingTimeout = .milliseconds(100)
        $0.connectionsPerRoute = 1
      }
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == 1 }
      for connection in bed.server.open { connection.isDeaf = true }
      await bed.until("another is opened") { bed.server.open.contains { !$0.isDeaf } }
    }
  }

  @Test func survivesConnectionsThatDropAllTheTime() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      var pieces = 0
      bed.server.afterRequests = { connection in
        pieces += 1
        if pieces % 3 == 0 { connection.drop() }
      }
      for _ in 0..<10 { await bed.stage.admit(bed.batch(hexadecimal(300))) }
      await bed.until("all settled") { bed.settledBatches == 10 }
      #expect(bed.tally.accepted == 3000)
      #expect(bed.stage.inFlight == 0)
    }
  }

  @Test func leavesNothingBehindWhenItStops() async throws {
    try await onLoop { _, loop in
      for _ in 0..<20 {
        weak var stage: DeliverStage?
        do {
          let bed = try DeliverBed(loop)
          bed.server.decide = { $0.stream % 4 == 1 ? .answer(200) : .silence }
          stage = bed.stage
          await bed.stage.admit(bed.batch(hexadecimal(200)))
          await bed.until("some accepted") { bed.tally.accepted > 10 }
          bed.stage.stop()
          await bed.until("every connection is closed") { bed.server.open.isEmpty }
          bed.stop()
        }
        await loop.wait(.milliseconds(5))
        #expect(stage == nil)
      }
    }
  }
}
