import EventLoop
import Model
import Testing

@testable import Deliver

/// A push that was in flight in a lost connection may be why it was lost.
@Suite struct SuspectTests {
  private func devices(_ count: Int) -> [(environment: APNsEnvironment, token: String)] {
    hexadecimal(count).map { (.production, $0) }
  }

  @Test func oneGuiltyTokenCostsTheOthersAlmostNothing() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.streamsPerConnection = 200
        $0.retry = RetryPolicy(initial: .milliseconds(20), maximum: .seconds(1))
      }
      defer { bed.stop() }
      let tokens = devices(3000)
      let guilty = tokens[1500].token
      bed.server.delay = .milliseconds(5)
      bed.server.decide = { [unowned server = bed.server] request in
        if request.token == guilty { server.connections[request.connection].drop() }
        return .answer(200)
      }
      let tally = SegmentTally()
      for first in stride(from: 0, to: 3000, by: 500) {
        await bed.stage.admit(bed.batch(Array(tokens[first..<first + 500]), tally))
      }
      await bed.until("all settled") { bed.settledBatches == 6 }
      #expect(tally.accepted == 2999)
      #expect(tally.rejections.map(\.reason) == [.unanswered])
      #expect(bed.server.count(guilty) == SuspectQueue.maximumLosses)
      let duplicates = bed.server.requests.count - 3000
      #expect(duplicates <= 200 + SuspectQueue.together + SuspectQueue.maximumLosses)
      // The two of ordinary traffic, one more after the loss, and the suspects'.
      #expect(bed.server.connections.count <= 2 + 1 + SuspectQueue.maximumLosses)
      #expect(tally.unsent == 0)
    }
  }

  @Test func ordinaryTrafficGoesOnBesideAStragglerThatIsSuspect() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == 2 }
      bed.server.decide = { [unowned server = bed.server] request in
        if request.token == "00bad0" { server.connections[request.connection].drop() }
        return .answer(200)
      }
      let twice = PushHistory(tries: 0, losses: 2, refusals: 0, mayHaveArrived: true)
      let suspect = SegmentTally()
      await bed.stage.admit(bed.batch([(.production, "00bad0")], suspect, history: twice))
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(100), tally))
      await bed.until("both settled") { bed.settledBatches == 2 }
      #expect(tally.accepted == 100 && bed.server.requests.count == 101)
      #expect(suspect.rejections.map(\.reason) == [.unanswered] && suspect.unsent == 0)
      #expect(bed.stage.openConnections == 2)
    }
  }

  @Test func whatMayHaveArrivedIsNeverExpired() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.streamsPerConnection = 5
        $0.closedAfter = .seconds(60)
      }
      defer { bed.stop() }
      bed.server.decide = { _ in .silence }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(30), tally, expiresIn: 1_000))
      await bed.until("ten are there") { bed.server.requests.count == 10 }
      bed.server.stop()
      await bed.until("lost") { bed.stage.inFlight == 0 }
      bed.clock.advance(1_000)
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.expired == 20)
      #expect(tally.rejections.map(\.reason) == [.unanswered])
      #expect(tally.rejections.map(\.count) == [10])
    }
  }

  @Test func suspectsLeaveAsStragglersWithTheirLosses() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.closedAfter = .milliseconds(50) }
      defer { bed.stop() }
      bed.server.decide = { _ in .silence }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(10), tally))
      await bed.until("there") { bed.server.requests.count == 10 }
      bed.server.stop()
      await bed.until("lost") { bed.stage.inFlight == 0 }
      bed.stage.postponeWaiting(of: tally)
      let lost = PushHistory(tries: 0, losses: 1, refusals: 0, mayHaveArrived: true)
      #expect(tally.stragglers.map(\.history) == Array(repeating: lost, count: 10))
      #expect(bed.settledBatches == 1)
    }
  }

  @Test func fewGoTogetherAndThoseLostTwiceAlone() throws {
    let batch = try onePush()
    func push(_ losses: UInt8) -> ReadyPush {
      let history = PushHistory(tries: 0, losses: losses, refusals: 0, mayHaveArrived: true)
      return ReadyPush(batch: batch, index: 0, history: history)
    }
    var queue = SuspectQueue()
    for _ in 0..<50 { queue.append(push(1)) }
    var inFlight = 0
    while queue.next(inFlight: inFlight) != nil { inFlight += 1 }
    #expect(inFlight == SuspectQueue.together)
    queue.append(push(2))
    queue.append(push(2))
    // Nobody joins those in flight while one waits to be alone.
    #expect(queue.next(inFlight: 1) == nil)
    for _ in 0..<2 {
      let alone = queue.next(inFlight: 0)
      #expect(alone?.history.losses == 2)
      #expect(queue.next(inFlight: 1) == nil)
    }
    #expect(queue.next(inFlight: 0)?.history.losses == 1)
    #expect(queue.next(inFlight: 1)?.history.losses == 1)
    #expect(queue.count == 50 - SuspectQueue.together - 2)
  }

  private func onePush() throws -> PushBatch {
    let headers = PushHeaders(
      pushType: .alert, priority: 10, topic: "a.b", collapseID: nil, expiration: 0,
      expiresAt: .max)
    return PushBatch(event: "e", headers: headers, tally: SegmentTally())
  }
}
