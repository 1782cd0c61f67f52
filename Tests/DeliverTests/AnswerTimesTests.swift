import EventLoop
import Model
import Testing

@testable import Deliver

/// Which push is passed over by a server that answers others.
@Suite struct AnswerTimesTests {
  private static let second: UInt64 = 1_000_000_000

  private func isPassedOver(_ watch: ConnectionWatch, sentAt: UInt64, at now: UInt64) -> Bool {
    watch.isOverdue(sentAt: sentAt * Self.second, at: now * Self.second)
  }

  private func watch() -> ConnectionWatch {
    var options = DeliverOptions { 0 }
    options.requestTimeout = .seconds(3_600)
    return ConnectionWatch(openedAt: 1, options)
  }

  @Test func aSlowServerIsGivenTimeThatItsAnswersTake() {
    var watch = watch()
    watch.answered(sentAt: 100 * Self.second, isGivenUp: false, at: 104 * Self.second)
    #expect(!isPassedOver(watch, sentAt: 100, at: 112) && isPassedOver(watch, sentAt: 100, at: 113))
    // Nothing that was sent later has been answered.
    #expect(!isPassedOver(watch, sentAt: 101, at: 200))
  }

  @Test func oneSlowAnswerIsForgotten() {
    var watch = watch()
    watch.answered(sentAt: 100 * Self.second, isGivenUp: false, at: 108 * Self.second)
    // Ten seconds: half of it.
    for _ in 0..<20 { watch.fade() }
    watch.answered(sentAt: 200 * Self.second, isGivenUp: false, at: 200 * Self.second)
    #expect(!isPassedOver(watch, sentAt: 188, at: 200) && isPassedOver(watch, sentAt: 186, at: 200))
    for _ in 0..<200 { watch.fade() }
    #expect(!isPassedOver(watch, sentAt: 195, at: 200) && isPassedOver(watch, sentAt: 194, at: 200))
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
