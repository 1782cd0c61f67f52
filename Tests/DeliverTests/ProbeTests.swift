import EventLoop
import Model
import Testing

@testable import Deliver

/// A push that was in flight in a lost connection may be why it was lost.
@Suite struct ProbeTests {
  private func devices(_ count: Int) -> [(destination: Destination, token: String)] {
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
      // More often where all others were taken before: only while some are can it be told that it
      // is the push.
      let sends = bed.server.count(guilty)
      #expect((5...LossRule.most).contains(sends))
      let duplicates = bed.server.requests.count - 3000
      #expect(duplicates <= 200 + 7 + 2 + sends)
      // The two of ordinary traffic, one more after the loss, and probe connections: as many as
      // there are, and a new one for each push of the last group and each further send.
      #expect(bed.server.connections.count <= 2 + 1 + Evidence.mostAsking + 3 + sends)
      #expect(tally.unsent == 0)
    }
  }

  /// The server reads what is there, answers later, and closes the connection when one of many
  /// tokens is due.
  @Test func manyGuiltyTokensCostTheOthersLittle() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.retry = RetryPolicy(initial: .milliseconds(50), maximum: .seconds(1))
      }
      defer { bed.stop() }
      let tokens = devices(6000)
      let guilty = Set(stride(from: 150, to: 6000, by: 300).map { tokens[$0].token })
      bed.server.delay = .milliseconds(5)
      bed.server.decide = { [unowned server = bed.server] request in
        guard guilty.contains(request.token) else { return .answer(200) }
        loop.schedule(after: .milliseconds(5)) { server.connections[request.connection].drop() }
        return .silence
      }
      let tally = SegmentTally()
      for first in stride(from: 0, to: 6000, by: 500) {
        await bed.stage.admit(bed.batch(Array(tokens[first..<first + 500]), tally))
      }
      await bed.until("all settled") { bed.settledBatches == 12 }
      #expect(tally.accepted == 6000 - guilty.count && tally.expired == 0)
      #expect(tally.rejections.map(\.reason) == [.unanswered])
      #expect(tally.rejections.map(\.count) == [guilty.count])
      let duplicates = bed.server.requests.count { !guilty.contains($0.token) } - tally.accepted
      // What was in flight at first, and little with each of the others.
      #expect(duplicates <= 2 * 250 + guilty.count * 30)
      #expect(tally.unsent == 0 && bed.stage.inFlight == 0)
    }
  }

  @Test func ordinaryTrafficGoesOnBesideAStragglerThatClosesConnections() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      await bed.until("open") { bed.stage.openConnections == 2 }
      bed.server.decide = { [unowned server = bed.server] request in
        if request.token == "00bad0" { server.connections[request.connection].drop() }
        return .answer(200)
      }
      let twice = PushHistory(tries: 0, losses: 2, refusals: 0, mayHaveArrived: true)
      let probe = SegmentTally()
      await bed.stage.admit(bed.batch([(.production, "00bad0")], probe, history: twice))
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(100), tally))
      await bed.until("both settled") { bed.settledBatches == 2 }
      #expect(tally.accepted == 100 && bed.server.count("00bad0") <= LossRule.most - 2)
      #expect(probe.rejections.map(\.reason) == [.unanswered] && probe.unsent == 0)
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

  @Test func probesLeaveAsStragglersWithTheirLosses() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.closedAfter = .milliseconds(50) }
      defer { bed.stop() }
      bed.server.decide = { _ in .silence }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(10), tally))
      await bed.until("there") { bed.server.requests.count == 10 }
      bed.server.stop()
      await bed.until("lost") { bed.stage.inFlight == 0 }
      await bed.until("closed") { bed.stage.obstacles.count == 1 }
      bed.stage.postponeWaiting(of: tally)
      let lost = PushHistory(tries: 0, losses: 1, refusals: 0, mayHaveArrived: true)
      #expect(tally.stragglers.map(\.history) == Array(repeating: lost, count: 10))
      #expect(bed.settledBatches == 1)
    }
  }

  @Test func whatWasLostTogetherIsDividedUntilOneIsAlone() throws {
    let batch = try onePush()
    func push(_ index: Int, losses: UInt8) -> ReadyPush {
      let history = PushHistory(tries: 0, losses: losses, refusals: 0, mayHaveArrived: true)
      return ReadyPush(batch: batch, index: index, history: history)
    }
    var queue = ProbeQueue()
    #expect(queue.count == 0 && !queue.isNextAlone)
    for (losses, count) in [(4, 1), (3, 2), (2, 4), (1, 20)] as [(UInt8, Int)] {
      for index in 0..<count { queue.append(push(index, losses: losses)) }
    }
    #expect(queue.count == 27)
    // No more than the connection takes.
    #expect(queue.next(atMost: 1).count == 1)
    #expect(queue.next(atMost: 0).isEmpty)
    var groups: [[UInt8]] = []
    while queue.count > 0 {
      let goesAlone = queue.isNextAlone
      groups.append(queue.next(atMost: 1000).map(\.history.losses))
      #expect(goesAlone == (groups.last?.first ?? 0 > 2))
    }
    #expect(groups.map(\.count) == [8, 8, 3, 3, 1, 1, 1, 1])
    #expect(groups.map { $0[0] } == [1, 1, 1, 2, 2, 4, 3, 3])
  }

  @Test func takesOutASegmentsPushes() throws {
    let first = try onePush()
    let second = try onePush()
    var queue = ProbeQueue()
    for index in 0..<40 {
      let history = PushHistory(
        tries: 0, losses: UInt8(1 + index % 3), refusals: 0, mayHaveArrived: true)
      queue.append(ReadyPush(batch: index < 22 ? first : second, index: index, history: history))
    }
    #expect(queue.take { $0.tally === first.tally }.count == 22 && queue.count == 18)
    #expect(queue.take { $0.tally === first.tally }.isEmpty)
    #expect(queue.take { $0.tally === second.tally }.count == 18 && queue.count == 0)
  }

  private func onePush() throws -> PushBatch {
    let headers = PushHeaders(
      pushType: .alert, priority: 10, topic: "a.b", collapseID: nil, expiration: 0,
      expiresAt: .max)
    return PushBatch(event: "e", headers: headers, tally: SegmentTally())
  }
}
