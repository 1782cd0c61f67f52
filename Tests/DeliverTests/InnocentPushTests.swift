import EventLoop
import Model
import Testing

@testable import Deliver

/// Servers that close connections for reasons of their own, and others that do so at one push.
@Suite struct InnocentPushTests {
  private func devices(_ count: Int) -> [(destination: Destination, token: String)] {
    hexadecimal(count).map { (.production, $0) }
  }

  /// Whatever is sent, the connection that it came on is lost.
  private func dropEachConnection(_ bed: DeliverBed) {
    bed.server.decide = { [unowned server = bed.server] request in
      server.connections[request.connection].drop()
      return .silence
    }
  }

  /// What it answered before it closes is all it has looked at; what comes until then is lost.
  @Test(arguments: [1, 7])
  func aServerThatClosesAfterSomeAnswersCostsNobody(answers: Int) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      var taken: [Int: Int] = [:]
      var accepted: [String: Int] = [:]
      bed.server.decide = { [unowned server = bed.server] request in
        let count = (taken[request.connection] ?? 0) + 1
        taken[request.connection] = count
        if count == answers {
          let connection = server.connections[request.connection]
          loop.schedule(after: .milliseconds(3)) { connection.drop() }
        }
        guard count <= answers else { return .silence }
        accepted[request.token, default: 0] += 1
        return .answer(200)
      }
      let tally = SegmentTally()
      let count = answers == 1 ? 60 : 200
      await bed.stage.admit(bed.batch(devices(count), tally))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.accepted == count && tally.rejections.isEmpty)
      #expect(accepted.count == count && accepted.values.allSatisfy { $0 == 1 })
      let sends = Dictionary(grouping: bed.server.requests, by: \.token).values.map(\.count)
      #expect(sends.allSatisfy { $0 < LossRule.most })
      // Those of the first connections once more, and a part of them a third time; where each
      // connection takes one, it has less than even chances to be new.
      #expect(bed.server.requests.count <= (answers == 1 ? 6 : 3) * count)
    }
  }

  /// For a while each connection ends at its first request. Those that are open when the trouble is
  /// over end like this still, while new ones are well.
  @Test func aServerThatIsOutOfOrderForAWhileCostsNobody() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.retry = RetryPolicy(initial: .milliseconds(10), maximum: .milliseconds(1500))
      }
      defer { bed.stop() }
      var lost: Set<Int> = []
      var well = Int.max
      bed.server.decide = { [unowned server = bed.server] request in
        guard request.connection < well else { return .answer(200) }
        lost.insert(request.connection)
        if lost.count == 60, well == .max { well = server.connections.count }
        server.connections[request.connection].drop()
        return .silence
      }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(300), tally))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.accepted == 300 && tally.rejections.isEmpty)
      let sends = Dictionary(grouping: bed.server.requests, by: \.token).values.map(\.count)
      #expect(sends.allSatisfy { $0 <= LossRule.most } && bed.server.requests.count <= 4 * 300)
    }
  }

  /// Nobody else is taken, so that nobody knows; all the same it has an end.
  @Test func aGuiltyPushThatIsTheOnlyOneEnds() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      dropEachConnection(bed)
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices(1), tally))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.rejections.map(\.reason) == [.unanswered])
      #expect(bed.server.requests.count == LossRule.most)
    }
  }

  /// Each is lost in ordinary traffic, with a group, alone, and then twice on a connection of its
  /// own while others are taken.
  @Test func severalGuiltyPushesEndWithFewSendsWhileOthersAreTaken() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      let guilty: Set = ["00bad0", "00bad1", "00bad2"]
      bed.server.delay = .milliseconds(1)
      bed.server.decide = { [unowned server = bed.server] request in
        if guilty.contains(request.token) { server.connections[request.connection].drop() }
        return .answer(200)
      }
      let tally = SegmentTally()
      let tokens = devices(300)
      let bad = guilty.sorted().map { (destination: Destination.production, token: $0) }
      let all = tokens[..<100] + [bad[0]] + tokens[100..<200] + [bad[1]] + tokens[200...] + [bad[2]]
      await bed.stage.admit(bed.batch(Array(all), tally))
      let others = SegmentTally()
      var admitted = 0
      while tally.settled < all.count, admitted < 20_000 {
        let batch = (0..<10).map { number in
          (destination: Destination.production, token: "11" + String(4096 + number, radix: 16))
        }
        await bed.stage.admit(bed.batch(batch, others))
        admitted += 10
        await bed.until("others are accepted") { others.accepted == admitted }
      }
      #expect(tally.accepted == 300 && tally.rejections.map(\.reason) == [.unanswered])
      #expect(tally.rejections.map(\.count) == [3])
      for token in guilty { #expect(bed.server.count(token) <= 6, "\(token)") }
    }
  }

  /// The record of a straggler says how often it was lost elsewhere.
  @Test func whatWasLostElsewhereCounts() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      dropEachConnection(bed)
      let tally = SegmentTally()
      let before = PushHistory(
        tries: 0, losses: UInt8(LossRule.most - 2), refusals: 0, mayHaveArrived: true)
      await bed.stage.admit(bed.batch(devices(1), tally, history: before))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.rejections.map(\.reason) == [.unanswered])
      #expect(bed.server.requests.count == 2)
    }
  }

  /// While it waits it may leave, and says when it should be sent again.
  @Test func aPushThatWasLostAloneWaitsAndLeavesWithItsLosses() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.retry = RetryPolicy(initial: .seconds(20), maximum: .seconds(100))
      }
      defer { bed.stop() }
      dropEachConnection(bed)
      let tally = SegmentTally()
      let before = PushHistory(tries: 0, losses: 2, refusals: 0, mayHaveArrived: true)
      await bed.stage.admit(bed.batch(devices(1), tally, history: before))
      await bed.until("lost") { bed.server.requests.count == 1 && bed.stage.inFlight == 0 }
      bed.stage.postponeWaiting(of: tally)
      let left = try #require(tally.stragglers.first)
      #expect(left.history.losses == 3 && left.history.mayHaveArrived)
      #expect(left.askAgainAt >= bed.clock.milliseconds.load(ordering: .relaxed) + 50_000)
    }
  }
}
