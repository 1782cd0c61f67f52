import EventLoop
import Model
import Testing

@testable import Deliver

/// An environment that takes pushes, and more slowly than they come.
@Suite struct SlowRouteTests {
  private typealias Device = (destination: Destination, token: String)

  /// Every second one is of the sandbox.
  private func mixed(_ count: Int) -> [Device] {
    hexadecimal(count).enumerated().map { ($0 % 2 == 0 ? .production : .sandbox, $1) }
  }

  private func devices(_ count: Int, _ destination: Destination) -> [Device] {
    hexadecimal(count).map { (destination, $0) }
  }

  /// The sandbox takes some twenty pushes a second.
  private func slowBed(_ loop: EventLoop) throws -> DeliverBed {
    let bed = try DeliverBed(loop, sandbox: .served) {
      $0.readyPushes = 100
      $0.streamsPerConnection = 20
      $0.congestedAfter = .milliseconds(100)
    }
    bed.sandbox.options.maximumConcurrentStreams = 1
    bed.sandbox.delay = .milliseconds(100)
    return bed
  }

  @Test func aSlowEnvironmentHoldsUpItsOwnPushesOnly() async throws {
    try await onLoop { _, loop in
      let bed = try slowBed(loop)
      defer { bed.stop() }
      let event = FanOut()
      let tallies = (0..<20).map { _ in SegmentTally(of: event) }
      for tally in tallies { await bed.stage.admit(bed.batch(mixed(100), tally)) }
      await bed.until("production is done") {
        tallies.allSatisfy { tally in tally.accepted(at: .production) == 50 }
      }
      await bed.until("nobody keeps a place for what the sandbox has not taken yet") {
        tallies.allSatisfy { $0.unsent == 0 } && !bed.stage.obstacles.isEmpty
      }
      #expect(bed.stage.readyCount < 100 + 50)
      let obstacle = try #require(bed.stage.obstacles.first)
      #expect(obstacle.kind == .slow && obstacle.destination == .sandbox)
      let last = tallies[19]
      #expect(last.stragglers.count > 40 && last.obstacle == "\(obstacle)")
      #expect(last.stragglers.allSatisfy { $0.member.hasPrefix("apns:sandbox:a.b:") })
      // What its queue has taken leaves when its segment wants it to.
      for tally in tallies { bed.stage.postponeWaiting(of: tally) }
      await bed.until("the rest is answered") { bed.settledBatches == 20 }
      #expect(bed.stage.readyCount == 0)
      for tally in tallies { #expect(tally.settled + tally.stragglers.count == 100) }
    }
  }

  /// Where nobody else is held up, waiting is what keeps memory bounded.
  @Test func aSlowEnvironmentThatIsAloneIsWaitedFor() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, sandbox: .served) {
        $0.readyPushes = 100
        $0.streamsPerConnection = 10
        $0.congestedAfter = .milliseconds(20)
      }
      defer { bed.stop() }
      bed.server.delay = .milliseconds(100)
      let tally = SegmentTally()
      for _ in 0..<4 { await bed.stage.admit(bed.batch(devices(100, .production), tally)) }
      #expect(tally.accepted >= 100 && tally.unsent > 0)
      await bed.until("all settled") { bed.settledBatches == 4 }
      #expect(tally.accepted == 400 && tally.stragglers == [] && bed.stage.obstacles == [])
    }
  }

  /// Segments that have pushes for nothing but a slow environment must not take up all places.
  @Test func ofThoseForASlowEnvironmentAloneAFewWait() async throws {
    try await onLoop { _, loop in
      let bed = try slowBed(loop)
      defer { bed.stop() }
      let event = FanOut()
      let first = SegmentTally(of: event)
      await bed.stage.admit(bed.batch(devices(150, .sandbox), first))
      await bed.until("it is slow") { bed.stage.obstacles.count == 1 }
      #expect(first.unsent == 0)
      let queue = AdmissionLog(bed)
      var tallies: [SegmentTally] = []
      for number in 0..<5 {
        let tally = SegmentTally(of: event)
        // The last is a segment of stragglers.
        tally.mayStraggle = number < 4
        tallies.append(tally)
        await queue.admit(number, bed.batch(devices(50, .sandbox), tally))
      }
      #expect(queue.admitted == [2, 3])
      #expect(tallies.map(\.stragglers.count) == [0, 0, 50, 50, 0])
      // Those who wait have their turn, in the order in which they came.
      bed.sandbox.delay = .milliseconds(5)
      await bed.until("all are in") { queue.admitted.count == 5 }
      #expect(queue.admitted == [2, 3, 0, 1, 4])
      await bed.until("all settled") { bed.settledBatches == 6 }
      #expect(tallies.map(\.accepted) == [50, 50, 0, 0, 50])
    }
  }

  /// A segment of stragglers that are among those of a slow environment has left one already.
  @Test func stragglersWaitForTheirTurn() async throws {
    try await onLoop { _, loop in
      let bed = try slowBed(loop)
      defer { bed.stop() }
      let first = SegmentTally()
      await bed.stage.admit(bed.batch(devices(50, .sandbox), first))
      await bed.until("it is slow") { bed.stage.obstacles.count == 1 }
      let stragglers = SegmentTally()
      stragglers.mayStraggle = false
      await bed.stage.admit(bed.batch(devices(50, .sandbox), stragglers))
      #expect(stragglers.unsent == 50)
      bed.stage.postponeWaiting(of: stragglers)
      bed.stage.postponeWaiting(of: first)
      #expect(stragglers.stragglers == [] && first.stragglers.count > 0)
      bed.sandbox.delay = nil
      await bed.until("all are sent") { stragglers.accepted == 50 && first.unsent == 0 }
    }
  }

  // MARK: when it is slow

  private static let second: UInt64 = 1_000_000_000

  @Test func isSlowWhenPushesWaitLongAndUntilNoneHasForAWhile() {
    var congestion = Congestion()
    func isSlow(oldest: UInt64?, at milliseconds: UInt64) -> Bool {
      congestion.observe(oldest: oldest, slowAfter: Self.second, at: milliseconds * 1_000_000)
      return congestion.isSlow
    }
    #expect(!isSlow(oldest: nil, at: 10_000))
    #expect(!isSlow(oldest: 10 * Self.second, at: 10_999))
    #expect(!congestion.isHoldingUp)
    #expect(isSlow(oldest: 10 * Self.second, at: 11_000))
    #expect(congestion.isHoldingUp)
    // Its queue was empty for a while: that says nothing.
    #expect(isSlow(oldest: nil, at: 12_000))
    #expect(!congestion.isHoldingUp)
    #expect(isSlow(oldest: 12 * Self.second, at: 13_000))
    #expect(isSlow(oldest: nil, at: 22_999))
    #expect(!isSlow(oldest: nil, at: 23_000))
  }
}
