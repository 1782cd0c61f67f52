import EventLoop
import HTTP2
import Model
import Testing
import Text

@testable import Deliver

/// What a refusal says about the push that is refused.
@Suite struct RefusalShareTests {
  /// Pushes that come one after the other and wait longer from try to try, and a server.
  private struct Trial {
    var share = RefusalShare()
    var accepted = 0
    /// Tries of those that were given up, and whether the server takes anything of theirs.
    var rejected: [(tries: Int, isSticky: Bool)] = []
    private var waiting: [Int: [(history: PushHistory, isSticky: Bool)]] = [:]
    private var waitingHealthy = 0
    private var random = SplitMix64(seed: 7)

    /// - Parameters:
    ///   - sticky: the part of the devices that is never taken.
    ///   - refuses: the part of all others that is refused, by the time.
    mutating func run(pushes: Int, sticky: Double = 0, refuses: (Int) -> Double) {
      var time = 0
      while time < pushes || waitingHealthy > 0 {
        let due = waiting.removeValue(forKey: time) ?? []
        if time < pushes { send(PushHistory(), isSticky: chance() < sticky, time, refuses) }
        waitingHealthy -= due.count { !$0.isSticky }
        for push in due { send(push.history, isSticky: push.isSticky, time, refuses) }
        time += 1
      }
    }

    private mutating func chance() -> Double { Double(random.next() >> 11) / Double(1 << 53) }

    private mutating func send(
      _ history: PushHistory, isSticky: Bool, _ time: Int, _ refuses: (Int) -> Double
    ) {
      guard isSticky || chance() < refuses(time) else {
        accepted += 1
        let isFirst = history.isEmpty
        return share.accepted(1, firsts: isFirst ? 1 : 0, refusals: Int(history.tries))
      }
      share.refused(isFirstTry: history.isEmpty)
      var history = history
      history.countTry(suspicion: share.weight)
      if history.suspicion >= 10 * PushHistory.wholeTry {
        rejected.append((Int(history.tries), isSticky))
      } else {
        let delay = min(1 << min(Int(history.tries), 7), 100)
        let due = time + delay / 2 + Int(chance() * Double(delay) / 2) + 1
        waiting[due, default: []].append((history, isSticky))
        if !isSticky { waitingHealthy += 1 }
      }
    }
  }

  @Test(arguments: [0.02, 0.1, 0.2, 0.35, 0.5, 0.75, 0.9])
  func whoIsRefusedAtRandomIsNeverGivenUp(share: Double) {
    var trial = Trial()
    trial.run(pushes: 20_000) { _ in share }
    #expect(trial.accepted == 20_000 && trial.rejected.isEmpty)
  }

  /// All are refused again and again, and then some at random.
  @Test func whoWasRefusedWithAllOthersIsNotGivenUp() {
    var trial = Trial()
    trial.run(pushes: 50_000) { $0 % 5_000 < 1_500 ? 1 : 0.1 }
    #expect(trial.accepted == 50_000 && trial.rejected.isEmpty)
  }

  /// However many they are, and though the server refuses some of the others too.
  @Test(arguments: [(0.01, 12), (0.15, 18), (0.3, 32), (0.5, 60)])
  func whoIsNeverTakenEnds(sticky: Double, tries: Int) {
    var trial = Trial()
    trial.run(pushes: 20_000, sticky: sticky) { _ in 0.05 }
    #expect(Double(trial.rejected.count) > 0.9 * sticky * 20_000)
    #expect(trial.rejected.allSatisfy { $0.isSticky && $0.tries <= tries && $0.tries >= 10 })
  }

  @Test func whereNearlyAllAreRefusedItSaysNothing() {
    var share = RefusalShare()
    for _ in 0..<95 { share.refused(isFirstTry: true) }
    share.accepted(5, firsts: 5, refusals: 0)
    #expect(share.weight == 0)
    // Nor does it where nothing is known.
    #expect(RefusalShare().weight < 40)
  }

  // MARK: on the way

  private func devices(_ count: Int, _ prefix: String) -> [(Destination, String)] {
    hexadecimal(count).map { (.production, prefix + $0) }
  }

  /// A fifth of the devices is never taken, as long as the others are.
  @Test(arguments: [
    FakeServer.Reply.answer(503, #"{"reason":"ServiceUnavailable"}"#),
    .reset(HTTP2ErrorCode.internalError),
  ])
  func devicesThatAreNeverTakenEndThoughTheyAreMany(reply: FakeServer.Reply) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) {
        $0.retry = RetryPolicy(initial: .milliseconds(10), maximum: .milliseconds(80))
      }
      defer { bed.stop() }
      var counts: [String: Int] = [:]
      bed.server.decide = {
        let token = $0.token
        guard token.hasPrefix("bad0") else { return .answer(200) }
        counts[token, default: 0] += 1
        return reply
      }
      let event = FanOut()
      let first = SegmentTally(of: event)
      let others = SegmentTally(of: event)
      await bed.stage.admit(bed.batch(devices(10, "bad0"), first))
      let limit = loop.now + 30_000_000_000
      var good = 0
      while first.settled < 10, loop.now < limit {
        let tries = counts["bad0001000", default: 0]
        let round = String(good + 4096, radix: 16)
        // Those of other segments that are never taken go on as well.
        await bed.stage.admit(bed.batch(devices(40, "aa\(round)"), others))
        await bed.stage.admit(bed.batch(devices(10, "bad0\(round)"), SegmentTally(of: event)))
        good += 40
        await bed.until("the others are accepted") { others.accepted == good }
        await bed.until("it is tried again") {
          first.settled > 0 || counts["bad0001000", default: 0] > tries
        }
      }
      #expect(first.rejections.map(\.count) == [10] && others.rejections.isEmpty)
      let tries = hexadecimal(10).map { counts["bad0" + $0, default: 0] }
      #expect(tries.allSatisfy { (10..<60).contains($0) }, "\(tries)")
    }
  }

  /// It was refused through a long outage that is over.
  @Test func aStragglerThatIsTakenAtLastChangesNoOthersShare() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(devices(250, ""), bed.tally))
      await bed.until("all are accepted") { bed.tally.accepted == 250 }
      let route = try #require(bed.stage.routes[.production])
      #expect(route.traffic.refusalShare.weight == 100)
      let straggler = SegmentTally()
      let history = PushHistory(tries: 60_000, losses: 0, refusals: 0, mayHaveArrived: false)
      await bed.stage.admit(bed.batch([(.production, "00aa")], straggler, history: history))
      await bed.until("it is accepted") { straggler.accepted == 1 && bed.stage.inFlight == 0 }
      #expect(route.traffic.refusalShare.weight == 100)
    }
  }

  @Test func aServerThatRefusesHalfOfAllCostsNoPush() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      var random = SplitMix64(seed: 3)
      bed.server.decide = { _ in random.next() % 2 == 0 ? .answer(503) : .answer(200) }
      for _ in 0..<5 { await bed.stage.admit(bed.batch(devices(300, ""), bed.tally)) }
      await bed.until("settled") { bed.tally.settled == 1500 }
      #expect(bed.tally.accepted == 1500)
      // Each further send is counted.
      #expect(bed.tally.retried == bed.server.requests.count - 1500)
    }
  }
}
