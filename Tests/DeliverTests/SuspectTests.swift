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
      // Once more where all others were taken before: only while some are can it be told that it
      // is the push.
      let most = LossRule.ofOnlyCause + 1
      #expect((LossRule.ofOnlyCause...most).contains(bed.server.count(guilty)))
      let duplicates = bed.server.requests.count - 3000
      #expect(duplicates <= 200 + 200 / SuspectQueue.groups + most)
      // The two of ordinary traffic, one more after the loss, and helpers that may be renewed once.
      #expect(bed.server.connections.count <= 2 + 1 + 2 * ConnectionPlaces.helperCount + most)
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
      await bed.until("closed") { bed.stage.obstacles.count == 1 }
      bed.stage.postponeWaiting(of: tally)
      let lost = PushHistory(tries: 0, losses: 1, refusals: 0, mayHaveArrived: true)
      #expect(tally.stragglers.map(\.history) == Array(repeating: lost, count: 10))
      #expect(bed.settledBatches == 1)
    }
  }

  @Test func whatWasLostTogetherIsDividedUntilOneIsAlone() throws {
    let batch = try onePush()
    func pushes(_ count: Int, losses: UInt8) -> [ReadyPush] {
      let history = PushHistory(tries: 0, losses: losses, refusals: 0, mayHaveArrived: true)
      return (0..<count).map { ReadyPush(batch: batch, index: $0, history: history) }
    }
    var queue = SuspectQueue()
    queue.append(pushes(1, losses: 2))
    queue.append(pushes(500, losses: 1))
    #expect(queue.count == 501 && queue.groupCount == 1 + SuspectQueue.groups)
    // No more than the connection takes.
    #expect(queue.nextGroup(atMost: 1).count == 1)
    #expect(queue.nextGroup(atMost: 0).isEmpty)
    var sizes: [Int] = []
    while queue.count > 1 { sizes.append(queue.nextGroup(atMost: 1000).count) }
    #expect(sizes == Array(repeating: 32, count: 15) + [19])
    // The one that was lost alone comes last.
    queue.append(pushes(16, losses: 2))
    for _ in 0..<16 { #expect(queue.nextGroup(atMost: 1000).count == 1) }
    #expect(queue.count == 1 && queue.groupCount == 1)
    #expect(queue.nextGroup(atMost: 1000).map(\.history.losses) == [2])
    #expect(queue.nextGroup(atMost: 1000).isEmpty && queue.groupCount == 0)
  }

  @Test func takesOutASegmentsPushesAndThoseThatExpired() throws {
    let first = try onePush()
    let second = try onePush()
    let once = PushHistory(tries: 0, losses: 1, refusals: 0, mayHaveArrived: true)
    let twice = PushHistory(tries: 0, losses: 2, refusals: 0, mayHaveArrived: true)
    var queue = SuspectQueue()
    queue.append(
      (0..<40).map { ReadyPush(batch: $0 % 2 == 0 ? first : second, index: $0, history: once) })
    queue.append([ReadyPush(batch: first, index: 40, history: twice)])
    #expect(queue.take { $0.tally === first.tally }.count == 21 && queue.count == 20)
    #expect(queue.takeExpired(at: 0).isEmpty)
    #expect(queue.takeExpired(at: .max).count == 20 && queue.count == 0)
    #expect(queue.groupCount == 0)
  }

  private func onePush() throws -> PushBatch {
    let headers = PushHeaders(
      pushType: .alert, priority: 10, topic: "a.b", collapseID: nil, expiration: 0,
      expiresAt: .max)
    return PushBatch(event: "e", headers: headers, tally: SegmentTally())
  }
}
