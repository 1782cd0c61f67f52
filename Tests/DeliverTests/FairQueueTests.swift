import Model
import Testing

@testable import Deliver

@Suite struct FairQueueTests {
  private let queue = FairQueue(route: .production)

  private func append(
    _ count: Int, _ name: String, _ tally: SegmentTally = SegmentTally(), at now: UInt64 = 0
  ) {
    let batch = PushBatch.made(topic: name, Array(repeating: .production, count: count), tally)
    let topic = queue.topic(named: name)
    _ = topic.append(batch, at: now)
  }

  private func take(_ limit: Int) -> (topic: String, count: Int)? {
    guard let (topic, left) = queue.next(at: 0),
      let run = topic.upcoming(atMost: min(limit, left))
    else { return nil }
    topic.drop(run, run.count)
    queue.took(run.count)
    return (topic.name, run.count)
  }

  @Test func topicsTakeTurnsBySoManyPushes() {
    append(70, "a")
    append(40, "b")
    var taken: [String] = []
    while let some = take(20) { taken.append("\(some.topic)\(some.count)") }
    #expect(taken == ["b20", "b12", "a20", "a12", "b8", "a20", "a12", "a6"])
    #expect(!queue.hasPushes)
  }

  @Test func whatIsClosedIsNotReady() {
    append(5, "a")
    append(7, "b")
    #expect(queue.readyCount == 12 && queue.parkedCount == 0)
    _ = queue.topic(named: "b").gate.refused(refusals: 1, sentAt: 0, at: 0, hold: 100)
    #expect(queue.readyCount == 12)
    // Those that ask have had no answer.
    queue.set(isOpen: true, closedAfter: 10, at: 10)
    #expect(queue.readyCount == 5 && queue.parkedCount == 7)
    queue.set(isOpen: false, closedAfter: 10, at: 10)
    #expect(!queue.isOpen && queue.readyCount == 0 && queue.parkedCount == 12)
    #expect(queue.topic(named: "c").isOpen == false)
    queue.set(isOpen: true, closedAfter: 100, at: 20)
    #expect(queue.readyCount == 12 && queue.topic(named: "c").isOpen)
  }

  /// Refused credentials are remembered for an hour, a doubt for a minute.
  @Test func whatRefusalsTaughtIsForgottenInTime() {
    let second: UInt64 = 1_000_000_000
    let topic = queue.topic(named: "a")
    #expect(topic.isForgettable(at: 0))
    _ = topic.gate.refused(refusals: 1, sentAt: second, at: second, hold: 100)
    #expect(!topic.isForgettable(at: 60 * second) && topic.isForgettable(at: 62 * second))
    for _ in 0..<4 { _ = topic.gate.refused(refusals: 1, sentAt: second, at: second, hold: 100) }
    #expect(topic.gate.isRefused)
    #expect(!topic.isForgettable(at: 3_600 * second) && topic.isForgettable(at: 3_602 * second))
  }

  @Test func aTopicInDoubtTakesNobodyElsesCapacity() {
    let first = SegmentTally()
    let second = SegmentTally()
    #expect(!isFull("a", first, 100))
    append(90, "a", first)
    #expect(!isFull("a", first, 100))
    append(40, "b", second)
    #expect(isFull("a", first, 100) && isFull("b", second, 100))
    _ = queue.topic(named: "a").gate.refused(refusals: 1, sentAt: 0, at: 0, hold: 100)
    #expect(!isFull("a", first, 100) && !isFull("b", second, 100))
    append(10, "a", first)
    #expect(isFull("a", first, 100) && !isFull("b", second, 100))
    queue.set(isOpen: false, closedAfter: 1000, at: 0)
    #expect(!isFull("a", first, 100))
  }

  private func isFull(_ name: String, _ tally: SegmentTally, _ readyPushes: Int) -> Bool {
    queue.isFull(for: name, of: tally.fanOut, readyPushes: readyPushes)
  }

  /// One that has all the room does not make another wait, which has its share in the end.
  @Test func capacityIsSharedByFanOuts() {
    let giant = SegmentTally()
    let other = SegmentTally()
    append(100, "a", giant)
    #expect(isFull("a", giant, 100) && !isFull("a", other, 100))
    append(31, "a", other)
    #expect(!isFull("a", other, 100))
    append(1, "a", other)
    // Others have taken all the room: a turn is enough.
    #expect(isFull("a", other, 100))
    while queue.find("a")?.count(of: giant.fanOut) ?? 0 > 49 { _ = take(1) }
    append(40, "a", other)
    #expect(!isFull("a", giant, 100) && !isFull("a", other, 100))
    append(1, "a", giant)
    #expect(isFull("a", giant, 100))
  }

  @Test func smallFanOutsHaveCapacityOfTheirOwn() {
    let giant = SegmentTally()
    let small = SegmentTally(of: FanOut(isSmall: true))
    append(200, "a", giant)
    append(90, "a", small)
    #expect(isFull("a", giant, 100) && !isFull("a", small, 100))
    append(10, "a", small)
    #expect(isFull("a", small, 100))
  }

  /// What came back is in the way of its own fan-out alone.
  @Test func returnedPushesTakeNobodyElsesCapacity() {
    let failing = SegmentTally()
    let other = SegmentTally()
    append(60, "a", other)
    let batch = PushBatch.made(
      topic: "a", Array(repeating: .production, count: 200), failing)
    for index in 0..<200 {
      let history = PushHistory(tries: 1, losses: 0, refusals: 0, mayHaveArrived: false)
      queue.topic(named: "a").append(ReadyPush(batch: batch, index: index, history: history))
    }
    #expect(isFull("a", failing, 200) && !isFull("a", other, 200))
  }

  @Test func segmentsKeepNoSlotsOnARouteThatLags() {
    let tally = SegmentTally()
    tally.mayStraggle = true
    append(4, "a", tally)
    #expect(tally.unsent == 4)
    queue.set(yields: true)
    #expect(tally.unsent == 0 && queue.yields)
    append(2, "b", tally)
    #expect(tally.unsent == 0)
    queue.set(yields: false)
    #expect(tally.unsent == 6)
  }

  @Test func segmentsKeepNoSlotsForOutliers() {
    let (bad, good, list) = (SegmentTally(), SegmentTally(), SegmentTally(of: FanOut()))
    list.mayStraggle = false
    for tally in [bad, good, list] { append(4, "a", tally) }
    queue.set(outliers: [bad.fanOut, list.fanOut])
    append(2, "b", bad)
    // Stragglers have left a segment once.
    #expect(bad.unsent == 0 && good.unsent == 4 && list.unsent == 4)
    queue.set(outliers: [good.fanOut])
    #expect(bad.unsent == 6 && good.unsent == 0)
    queue.set(outliers: [])
    #expect(good.unsent == 4 && queue.outliers.isEmpty)
  }

  @Test func outliersHaveCapacityOfTheirOwn() {
    let (bad, good) = (SegmentTally(), SegmentTally())
    append(100, "a", bad)
    append(40, "a", good)
    #expect(isFull("a", bad, 100) && isFull("a", good, 100))
    queue.set(outliers: [bad.fanOut])
    #expect(isFull("a", bad, 100) && !isFull("a", good, 100))
    append(60, "a", good)
    #expect(isFull("a", good, 100))
  }

  @Test func topicsWithoutPushesAreForgottenWhenTheirRefusalsAreOld() {
    append(1, "a")
    _ = queue.topic(named: "b")
    _ = queue.topic(named: "c").gate.refused(refusals: 1, sentAt: 0, at: 0, hold: 100)
    #expect(queue.forget(at: 1).map(\.name) == ["b"])
    #expect(queue.forget(at: 61_000_000_000).map(\.name) == ["c"])
    #expect(queue.topics.map(\.name) == ["a"] && queue.find("c") == nil)
  }

  @Test func opensWhenTheFirstHoldEnds() {
    append(1, "a")
    append(1, "b")
    #expect(queue.opensAt(after: 0) == nil)
    for (name, hold) in [("a", 300), ("b", 200), ("c", 100)] {
      for _ in 0..<4 {
        _ = queue.topic(named: name).gate.refused(
          refusals: 1, sentAt: 0, at: 0, hold: UInt64(hold))
      }
    }
    // Nothing waits for the third.
    #expect(queue.opensAt(after: 0) == 200 && queue.opensAt(after: 200) == 300)
    #expect(queue.opensAt(after: 300) == nil)
  }

  @Test func theOldestIsOfATopicThatNothingIsKnownAgainst() {
    #expect(queue.oldest == nil)
    append(1, "a", at: 5)
    append(1, "b", at: 7)
    #expect(queue.oldest == 5)
    _ = queue.topic(named: "a").gate.refused(refusals: 1, sentAt: 0, at: 0, hold: 100)
    #expect(queue.oldest == 7)
  }

  @Test func oneThatAskedMakesRoomForAnother() {
    append(1, "a")
    let topic = queue.topic(named: "a")
    _ = topic.gate.refused(refusals: 1, sentAt: 0, at: 0, hold: 100)
    for _ in 0..<4 { topic.gate.checkSent(at: 0) }
    #expect(!topic.canSend(at: 0) && queue.sendableCount(at: 0) == 0)
    let batch = PushBatch.made(topic: "a", [.production], SegmentTally())
    var push = ReadyPush(batch: batch, index: 0, history: PushHistory())
    #expect(!queue.back(push).isCredentialCheck && !topic.canSend(at: 0))
    push.isCredentialCheck = true
    #expect(!queue.back(push).isCredentialCheck && topic.canSend(at: 0))
    #expect(queue.sendableCount(at: 0) == 1)
  }
}
