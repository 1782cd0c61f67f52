import EventLoop
import Model
import Record
import Testing

@testable import Pipeline

@Suite struct SegmentRunTests {
  private func run(
    _ slice: Segment.Slice, _ loop: EventLoop, recordBytes: Int = 0
  ) -> SegmentRun {
    let event = Event(
      id: "e1", app: "a.b", streamer: "s1", stream: "b1", template: "go-live", occurredAt: 0,
      expiresAt: 0, fields: [:], document: [])
    let claim = Claim(segment: Segment(event: event, slice: slice, count: 1), owner: "w/1/0.1")
    return SegmentRun(
      claim: claim, recordBytes: recordBytes, slot: LaneSlot {}, loop: loop, memory: unbounded)
  }

  /// A claim began no sooner than it was asked for, and is trusted for a tenth less than it lives.
  @Test func nothingIsSentAfterTheEndOfAClaim() {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let run = run(.plain(key: "k"), loop)
    run.holds(since: 5_000, for: .seconds(10))
    #expect(run.tally.sendableUntil == 9_000_005_000)
    run.holds(since: 4_000_000_000, for: .seconds(10))
    #expect(run.tally.sendableUntil == 13_000_000_000)
  }

  @Test(arguments: [(0, false), (1, false), (0, true), (1, true)] as [(Int64, Bool)])
  func aRunMayHaveSentWhatItOrItsFormerOwnerSent(firstPushAt: Int64, mayHaveBeenSent: Bool) {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let run = run(.plain(key: "k"), loop)
    run.tally.firstPushAt = firstPushAt
    run.tally.mayHaveBeenSent = mayHaveBeenSent
    #expect(run.mayHaveSent == (firstPushAt > 0 || mayHaveBeenSent))
  }

  @Test func aSlotIsReleasedOnce() {
    var calls = 0
    let slot = LaneSlot { calls += 1 }
    #expect(slot.isHeld)
    slot.release()
    slot.release()
    #expect(calls == 1 && !slot.isHeld)
  }

  @Test func aLostSegmentSendsNothingAndWhoeverWaitsForItGoesOn() async {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    await LoopActor(loop).run { _ in
      let run = run(.plain(key: "k"), loop)
      run.lead(to: .sending)
      run.tally.willSend(1)
      loop.schedule(after: .milliseconds(5)) { run.take(.renewal(.another)) }
      #expect(await !run.reached(.nothingUnsent))
      #expect(run.machine.state == .lost && run.tally.sendableUntil == 0)
      #expect(throws: RetryUntilStopped.Stopped.self) { try run.check() }
    }
  }

  /// Stragglers that Kafka has not taken yet are no longer the tally's.
  @Test func whatIsNotWrittenYetIsKept() {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let run = run(.plain(key: "k"), loop, recordBytes: 1_000)
    #expect(run.keptBytes == 2_000)
    run.unwritten = 10
    #expect(run.keptBytes >= 2_000 + 10 * 256)
  }

  @Test func onlyStragglersHaveAnIndex() {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    let push = Straggler(user: "u1", member: "apns:production:a.b:ff", history: PushHistory())
    let list = StragglerList(id: "plain~01", parent: "plain", pushes: [push])
    let plain = run(.plain(key: "k"), loop)
    let late = run(.stragglers(list), loop)
    #expect(plain.index == nil && late.index?.count == 1)
  }
}

extension SegmentRun {
  /// On the shortest way there.
  func lead(to state: SegmentMachine.State) {
    let inputs: [SegmentMachine.Input] = [
      .begun(isClaimed: false), .turn(.now), .bid(.won), .sent, .tried(mayReleaseSlot: true),
      .answered,
    ]
    for input in inputs where machine.state != state { take(input) }
    precondition(machine.state == state)
  }
}
