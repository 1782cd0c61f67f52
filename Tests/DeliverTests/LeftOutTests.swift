import EventLoop
import HTTP2
import Model
import Testing

@testable import Deliver

/// Pushes that a server says, going away, that it has not looked at.
@Suite struct LeftOutTests {
  private func devices(_ count: Int) -> [(environment: APNsEnvironment, token: String)] {
    hexadecimal(count).map { (.production, $0) }
  }

  /// It goes away just before this one each time, and looks at all that came before.
  @Test func aPushThatTheServerAlwaysGoesAwayBeforeEnds() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = { [unowned server = bed.server] request in
        let connection = server.connections[request.connection]
        guard request.token == "00bad0" else {
          return connection.isGoingAway ? .silence : .answer(200)
        }
        if !connection.isGoingAway { connection.goAway(lastStream: max(0, request.stream - 2)) }
        return .silence
      }
      let tally = SegmentTally()
      await bed.stage.admit(
        bed.batch(devices(100) + [(.production, "00bad0")] + devices(100), tally))
      let others = SegmentTally()
      var admitted = 0
      while tally.settled < 201, admitted < 200_000 {
        await bed.stage.admit(bed.batch(devices(20), others))
        admitted += 20
        await bed.until("others are accepted") { others.accepted == admitted }
      }
      #expect(tally.accepted == 200 && tally.rejections.map(\.reason) == [.unanswered])
      #expect((3...8).contains(bed.server.count("00bad0")))
    }
  }

  /// As Node's http2 does: those that it leaves out are none the worse for it.
  @Test func aServerThatGoesAwayAfterSomeAnswersCostsNobodyATry() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.connectionsPerRoute = 1 }
      defer { bed.stop() }
      var taken: [Int: Int] = [:]
      bed.server.decide = { [unowned server = bed.server] request in
        let connection = server.connections[request.connection]
        guard !connection.isGoingAway else { return .silence }
        taken[request.connection, default: 0] += 1
        if taken[request.connection] == 50 { connection.goAway(lastStream: request.stream) }
        return .answer(200)
      }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(1000), tally))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.accepted == 1000 && tally.rejections.isEmpty)
      // What comes behind a GOAWAY the server's own library keeps to itself.
      #expect(tally.retried >= bed.server.requests.count - 1000)
    }
  }

  @Test func theFirstThatIsLeftOutCountsMore() {
    for (ways, often) in [
      ([true, true], false), ([true, true, true], true),
      ([true, true] + Array(repeating: false, count: 7), false),
      ([true, true] + Array(repeating: false, count: 8), true),
      (Array(repeating: false, count: 23), false), (Array(repeating: false, count: 24), true),
      (Array(repeating: true, count: 300), true),
    ] {
      var trace = LossTrace()
      for isNext in ways { trace.leftOut(isNext: isNext, wasOfUse: false) }
      #expect(trace.isLeftOutOften == often, "\(ways)")
    }
  }

  /// A server that goes away after so many requests leaves out many each time.
  @Test func beingOneOfManyBehindAConnectionThatWasOfUseSaysNothing() {
    var trace = LossTrace()
    for _ in 0..<100 { trace.leftOut(isNext: false, wasOfUse: true) }
    #expect(trace.wasLeftOut && !trace.isLeftOutOften)
    // Nor does it go round for ever.
    for _ in 0..<300 { trace.leftOut(isNext: false, wasOfUse: true) }
    #expect(trace.isLeftOutOften)
    var next = LossTrace()
    for _ in 0..<3 { next.leftOut(isNext: true, wasOfUse: true) }
    #expect(next.isLeftOutOften)
  }
}
