import EventLoop
import Model
import Testing

@testable import Deliver

/// Something before the server admits so many connections and no more: what was lost goes in
/// ordinary traffic then.
@Suite struct ConnectionLimitTests {
  private func devices(_ count: Int) -> [(destination: Destination, token: String)] {
    hexadecimal(count).map { (.production, $0) }
  }

  private func bed(_ loop: EventLoop, connections: Int) throws -> DeliverBed {
    let bed = try DeliverBed(loop) {
      $0.connectionsPerRoute = connections
      $0.streamsPerConnection = 100
      $0.retry = RetryPolicy(initial: .milliseconds(20), maximum: .seconds(2))
    }
    bed.server.maximumConnections = connections
    bed.server.delay = .milliseconds(5)
    return bed
  }

  /// All of its connections are open, and are dropped once, when 20 requests have come.
  private func open(_ bed: DeliverBed, connections: Int) async {
    await bed.until("open") { bed.stage.openConnections == connections }
    dropOnce(bed, after: 20)
  }

  /// Drops every connection once, when this many requests have come.
  private func dropOnce(_ bed: DeliverBed, after requests: Int) {
    var hasDropped = false
    bed.server.decide = { [unowned server = bed.server] _ in
      if server.requests.count >= requests, !hasDropped {
        hasDropped = true
        for connection in server.open { connection.drop() }
      }
      return .answer(200)
    }
  }

  @Test(arguments: [1, 2])
  func whatWasLostArrives(connections: Int) async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop, connections: connections)
      defer { bed.stop() }
      await open(bed, connections: connections)
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(100), tally))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.accepted == 100 && tally.rejections.isEmpty)
      #expect(bed.stage.openConnections <= connections)
    }
  }

  @Test(arguments: [1, 2])
  func whatWasLostArrivesThoughOthersAreAlwaysReady(connections: Int) async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop, connections: connections)
      defer { bed.stop() }
      await open(bed, connections: connections)
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(60), tally))
      // That none is open is seen for a moment only.
      await bed.until("lost, and open again") {
        bed.server.connections.count > connections && bed.stage.openConnections > 0
      }
      let others = SegmentTally()
      var admitted = 0
      while tally.settled < 60, admitted < 200_000 {
        await bed.stage.admit(bed.batch(devices(200), others))
        admitted += 200
        await bed.until("others go on") { others.accepted >= admitted - 200 }
      }
      #expect(tally.accepted == 60 && tally.rejections.isEmpty)
      await bed.until("all are accepted") { others.accepted == admitted }
    }
  }

  /// It is found out there too, and costs the others little.
  @Test(arguments: [1, 2]) func aPushThatClosesConnectionsEnds(connections: Int) async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop, connections: connections)
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == connections }
      bed.server.decide = { [unowned server = bed.server] request in
        if request.token == "00bad0" { server.connections[request.connection].drop() }
        return .answer(200)
      }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(50) + [(.production, "00bad0")], tally))
      let others = SegmentTally()
      var admitted = 0
      while tally.settled < 51, admitted < 1_000_000 {
        await bed.stage.admit(bed.batch(devices(20), others))
        admitted += 20
        await bed.until("others are accepted") { others.accepted == admitted }
      }
      // Where there is no capacity for probe connections, all of them share its losses, and each
      // loss counts. Back-offs part them, unless our own process stands still meanwhile.
      #expect(tally.accepted >= 48 && tally.settled == 51, "beside \(admitted)")
      #expect(tally.rejections.map(\.reason) == [.unanswered])
      #expect(bed.server.count("00bad0") <= LossRule.most)
      #expect(bed.server.refusedConnections > 0)
    }
  }

  /// A probe connection that has nothing to do leaves its place to the ordinary ones.
  @Test func anIdleProbeConnectionIsNotInTheWay() async throws {
    try await onLoop { _, loop in
      let bed = try bed(loop, connections: 2)
      defer { bed.stop() }
      bed.server.maximumConnections = 3
      await bed.until("open") { bed.stage.openConnections == 2 }
      dropOnce(bed, after: 20)
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(60), tally))
      // Where probe connections were faster, an ordinary one was refused, and they have left
      // already.
      await bed.until("accepted") {
        tally.accepted == 60 && bed.stage.openConnections == 2
          && (bed.server.open.count == 3 || bed.server.refusedConnections > 0)
      }
      bed.server.maximumConnections = 2
      bed.server.open[0].drop()
      bed.server.open[0].drop()
      await bed.stage.admit(bed.batch(devices(60), tally))
      await bed.until("both are there again") { bed.stage.openConnections == 2 }
    }
  }
}
