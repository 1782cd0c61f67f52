import EventLoop
import Model
import Record
import Testing

@testable import Pipeline

@Suite struct SegmentRunTests {
  private func claim(_ slice: Segment.Slice) -> Claim {
    let event = Event(
      id: "e1", app: "a.b", streamer: "s1", stream: "b1", template: "go-live", occurredAt: 0,
      expiresAt: 0, fields: [:], document: [])
    return Claim(segment: Segment(event: event, slice: slice, count: 1), owner: "w/1/0.1")
  }

  /// A claim began no sooner than it was asked for, and is trusted for a tenth less than it lives.
  @Test func nothingIsSentAfterTheEndOfAClaim() {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let run = SegmentRun(claim: claim(.plain(key: "k")), loop: loop, memory: unbounded, vacate: {})
    run.holds(since: 5_000, for: .seconds(10))
    #expect(run.tally.sendableUntil == 9_000_005_000)
    run.holds(since: 4_000_000_000, for: .seconds(10))
    #expect(run.tally.sendableUntil == 13_000_000_000)
  }

  /// Each answer to a run that sends, and to one that settles.
  @Test(arguments: Renewal.allCases, [false, true])
  func aRunGoesOnUnlessItIsAnothers(_ renewal: Renewal, isSettling: Bool) {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let run = SegmentRun(claim: claim(.plain(key: "k")), loop: loop, memory: unbounded, vacate: {})
    run.isSettling = isSettling
    let before = run.tally.sendableUntil
    let standing = run.take(renewal, asked: 5_000, lifetime: .seconds(10))
    switch renewal {
    case .held: #expect(standing == .goesOn && run.tally.sendableUntil == 9_000_005_000)
    case .another: #expect(standing == .isAnothers)
    case .settled: #expect(standing == (isSettling ? .goesOn : .wasSettled))
    }
    if renewal != .held {
      #expect(run.tally.sendableUntil == (standing == .goesOn ? before : 0))
    }
    #expect(run.isLost == (standing != .goesOn) && run.progress.isAbandoned == run.isLost)
  }

  @Test(arguments: [(0, false), (1, false), (0, true), (1, true)] as [(Int64, Bool)])
  func aRunMayHaveSentWhatItOrItsFormerOwnerSent(firstPushAt: Int64, mayHaveBeenSent: Bool) {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let run = SegmentRun(claim: claim(.plain(key: "k")), loop: loop, memory: unbounded, vacate: {})
    run.tally.firstPushAt = firstPushAt
    run.tally.mayHaveBeenSent = mayHaveBeenSent
    #expect(run.mayHaveSent == (firstPushAt > 0 || mayHaveBeenSent))
  }

  @Test func aPlaceIsLeftOnce() {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    var calls = 0
    let run = SegmentRun(claim: claim(.plain(key: "k")), loop: loop, memory: unbounded) {
      calls += 1
    }
    #expect(run.hasPlace)
    run.leavePlace()
    run.leavePlace()
    #expect(calls == 1 && !run.hasPlace)
  }

  @Test func whoeverWaitsForALostSegmentGoesOn() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let claim = claim(.plain(key: "k"))
    let isReached = await LoopActor(loop).run { _ in
      let run = SegmentRun(claim: claim, loop: loop, memory: unbounded, vacate: {})
      run.tally.willSend(1)
      loop.schedule(after: .milliseconds(5)) { run.lose() }
      let isReached = await run.progress.reached(.nothingUnsent)
      return isReached || !run.isLost
    }
    #expect(!isReached)
  }

  /// Stragglers that Kafka has not taken yet are no longer the tally's.
  @Test func whatIsNotWrittenYetIsKept() {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let run = SegmentRun(claim: claim(.plain(key: "k")), loop: loop, memory: unbounded, vacate: {})
    run.recordBytes = 1_000
    #expect(run.keptBytes == 2_000)
    run.unwritten = 10
    #expect(run.keptBytes >= 2_000 + 10 * 256)
  }

  @Test func onlyStragglersHaveAnIndex() {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let push = Straggler(user: "u1", member: "apns:production:a.b:ff", history: PushHistory())
    let list = StragglerList(id: "plain~01", parent: "plain", pushes: [push])
    let plain = SegmentRun(
      claim: claim(.plain(key: "k")), loop: loop, memory: unbounded, vacate: {})
    let late = SegmentRun(
      claim: claim(.stragglers(list)), loop: loop, memory: unbounded, vacate: {})
    #expect(plain.index == nil && late.index?.count == 1)
  }
}
