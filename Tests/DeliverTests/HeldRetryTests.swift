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
        environment: .production, target: target,
        credentials: .init(name: nil, .key(bed.tokens)), options: options,
        loop: loop, chance: { 0 })
      let obstacles = RouteObstacles(environment: .production, options: options, topics: topics)
      let waiting = RouteWaiting(
        setup, topics: topics, traffic: RouteTraffic(streamsPerConnection: 100),
        obstacles: obstacles, signals: signals)
      _ = topics.topic(named: "a.b")
      let fanOut = FanOut()
      let (lost, other) = (SegmentTally(of: fanOut), SegmentTally(of: fanOut))
      // As many as come back at a time, and one more.
      let devices = hexadecimal(256).map { (APNsEnvironment.production, $0) }
      let batches = [bed.batch(devices, lost), bed.batch([(.production, "00")], other)]
      for batch in batches {
        for index in batch.entries.indices {
          waiting.wait(ReadyPush(batch: batch, index: index, history: PushHistory()), until: 1)
        }
      }
      waiting.enqueueDue(at: 2)
      #expect(topics.readyCount == 256 && !waiting.hasDue(at: 2))
      #expect(waiting.nextDue(after: 2) == nil)
      await bed.until("what was asked for is over") { pumps == 1 }
      if isLost { waiting.abandon(lost) } else { waiting.postponeAll(of: lost) }
      await bed.until("it is looked at again") { pumps == 2 }
      waiting.enqueueDue(at: 2)
      #expect(topics.readyCount == 1 && waiting.count == 0)
      #expect(lost.stragglers.count == (isLost ? 0 : 256))
    }
  }

  /// Of those that are held one of each fan-out comes back, then the next of each.
  @Test func fanOutsTakeTurns() {
    let fanOuts = (0..<3).map { _ in FanOut() }
    var queue = RetryQueue()
    for fanOut in fanOuts {
      let tally = SegmentTally(of: fanOut)
      let batch = PushBatch.made(topic: "a.b", [.production, .production], tally)
      for index in 0..<2 {
        queue.append(ReadyPush(batch: batch, index: index, history: PushHistory()), due: 1)
      }
    }
    #expect(queue.popDue(at: 2, mayGo: { _ in false })?.index == nil)
    #expect(queue.heldFanOuts { _ in true } == 3)
    var order: [Int] = []
    while let push = queue.popDue(at: 2) {
      order.append(fanOuts.firstIndex { $0 === push.tally.fanOut } ?? -1)
    }
    #expect(order.count == 6 && Set(order.prefix(3)).count == 3)
    #expect(
      Array(order.prefix(3)) == Array(order.suffix(3)) && queue.heldFanOuts { _ in true } == 0)
  }
}
