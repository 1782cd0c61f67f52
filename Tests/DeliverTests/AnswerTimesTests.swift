import EventLoop
import Model
import Testing

@testable import Deliver

/// Which push is passed over by a server that answers others.
@Suite struct AnswerTimesTests {
  private static let second: UInt64 = 1_000_000_000

  @Test func aSlowServerIsGivenTimeThatItsAnswersTake() {
    var times = AnswerTimes()
    times.answered(sentAt: 100 * Self.second, at: 104 * Self.second)
    let isPassedOver = { (sentAt: UInt64, now: UInt64) in
      times.isPassedOver(
        sentAt: sentAt * Self.second, at: now * Self.second, shortest: 5 * Self.second)
    }
    #expect(!isPassedOver(100, 112) && isPassedOver(100, 113))
    // Nothing that was sent later has been answered.
    #expect(!isPassedOver(101, 200))
  }

  @Test func oneSlowAnswerIsForgotten() {
    var times = AnswerTimes()
    times.answered(sentAt: 100 * Self.second, at: 108 * Self.second)
    // Ten seconds: half of it.
    for _ in 0..<20 { times.fade() }
    let now = 200 * Self.second
    times.answered(sentAt: now, at: now)
    #expect(!times.isPassedOver(sentAt: now - 12 * Self.second, at: now, shortest: Self.second))
    #expect(times.isPassedOver(sentAt: now - 14 * Self.second, at: now, shortest: Self.second))
    for _ in 0..<200 { times.fade() }
    #expect(times.isPassedOver(sentAt: now - 2 * Self.second, at: now, shortest: Self.second))
  }

  /// The connection's ticks are what makes it forget.
  @Test func aPushIsPassedOverThoughAnAnswerWasSlowOnce() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.connectionsPerRoute = 1
        $0.passedOverAfter = .milliseconds(50)
      }
      defer { bed.stop() }
      bed.server.delay = .milliseconds(400)
      await bed.stage.admit(bed.batch(["00aa"]))
      await bed.until("answered late") { bed.tally.accepted == 1 }
      bed.server.delay = nil
      bed.server.decide = { [unowned server = bed.server] request in
        request.token == "00bad0" && server.count("00bad0") == 1 ? .silence : .answer(200)
      }
      await bed.stage.admit(bed.batch(["00bad0", "00ab"]))
      await bed.until("one is answered") { bed.tally.accepted == 2 }
      let route = try #require(bed.stage.routes[.production])
      let connection = try #require(route.pool.slots[0].connection)
      // Three times the slow answer would be 1.2 s.
      connection.tick(now: loop.now + 200_000_000)
      #expect(bed.notices.unanswered == 0)
      for _ in 0..<100 { connection.tick(now: loop.now) }
      connection.tick(now: loop.now + 200_000_000)
      #expect(bed.notices.unanswered == 1)
      await bed.until("sent again") { bed.tally.accepted == 3 }
    }
  }
}
