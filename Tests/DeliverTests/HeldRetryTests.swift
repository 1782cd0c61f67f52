import EventLoop
import Model
import Testing
import Transport

@testable import Deliver

/// Pushes whose back-off is over and that are held, since enough of their fan-out stand in its
/// queue already.
@Suite struct HeldRetryTests {
  /// What stood in the queue leaves with its segment: nothing else happens, and no timer runs.
  @Test(arguments: [true, false])
  func othersOfTheFanOutComeBackWhenASegmentLeaves(isLost: Bool) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      let topics = RouteTopics(environment: .production)
      let signals = RouteSignals(loop: loop)
      var pumps = 0
      signals.pump = { pumps += 1 }
      let options = DeliverOptions(wallClock: { 0 })
      let target = APNsRoute(
        endpoint: Endpoint(host: "127.0.0.1", port: 1),
        tls: try DeliverBed.certificates.get().client)
      let setup = RouteSetup(
        environment: .production, target: target, options: options, loop: loop,
        chance: Chance(SystemRandomNumberGenerator()))
      let obstacles = RouteObstacles(environment: .production, options: options, topics: topics)
      let waiting = RouteWaiting(setup, topics: topics, obstacles: obstacles, signals: signals)
      _ = topics.topic(named: "a.b")
      let fanOut = FanOut()
      let (lost, other) = (SegmentTally(of: fanOut), SegmentTally(of: fanOut))
      let batches = [lost, other].map { bed.batch([(.production, "00")], $0) }
      for batch in batches {
        waiting.wait(ReadyPush(batch: batch, index: 0, history: PushHistory()), until: 1)
      }
      waiting.enqueueDue(atMost: 1, at: 2)
      #expect(topics.readyCount == 1 && !waiting.hasDue(atMost: 1) && waiting.nextDue == nil)
      await bed.until("what was asked for is over") { pumps == 1 }
      if isLost { waiting.abandon(lost) } else { waiting.postponeAll(of: lost) }
      await bed.until("it is looked at again") { pumps == 2 }
      waiting.enqueueDue(atMost: 1, at: 2)
      #expect(topics.readyCount == 1 && waiting.count == 0)
      #expect(lost.stragglers.count == (isLost ? 0 : 1))
    }
  }
}
