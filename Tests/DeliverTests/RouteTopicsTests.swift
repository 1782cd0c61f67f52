import Model
import Testing

@testable import Deliver

@Suite struct RouteTopicsTests {
  private let topics = RouteTopics(destination: .production)

  private func append(
    _ count: Int, _ name: String, _ tally: SegmentTally = SegmentTally(), at now: UInt64 = 0
  ) {
    let batch = PushBatch.made(topic: name, Array(repeating: .production, count: count), tally)
    let topic = topics.topic(named: name)
    let taken = topic.queue.append(batch, atMost: .max, at: now).taken
    if topic.counts(tally) { tally.willSend(taken) }
  }

  private func take(_ limit: Int) -> (topic: String, count: Int)? {
    guard let (topic, left) = topics.next(at: 0),
      let run = topic.upcoming(atMost: min(limit, left))
    else { return nil }
    topic.queue.drop(run, run.count)
    topics.took(run.count)
    return (topic.name, run.count)
  }

  @Test func topicsTakeTurnsBySoManyPushes() {
    append(70, "a")
    append(40, "b")
    var taken: [String] = []
    while let some = take(20) { taken.append("\(some.topic)\(some.count)") }
    #expect(taken == ["b20", "b12", "a20", "a12", "b8", "a20", "a12", "a6"])
    #expect(!topics.hasPushes)
  }

  @Test func whatIsClosedIsNotReady() {
    append(5, "a")
    append(7, "b")
    #expect(topics.readyCount == 12 && topics.parkedCount == 0)
    _ = topics.topic(named: "b").gate.refused(refusals: 1, sentAt: 0, at: 0, hold: 100)
    #expect(topics.readyCount == 12)
    // Those that ask have had no answer.
    topics.set(isOpen: true, closedAfter: 10, at: 10)
    #expect(topics.readyCount == 5 && topics.parkedCount == 7)
    topics.set(isOpen: false, closedAfter: 10, at: 10)
    #expect(!topics.isOpen && topics.readyCount == 0 && topics.parkedCount == 12)
    #expect(topics.topic(named: "c").isOpen == false)
    topics.set(isOpen: true, closedAfter: 100, at: 20)
    #expect(topics.readyCount == 12 && topics.topic(named: "c").isOpen)
  }

  /// Refused credentials are remembered for an hour, a doubt for a minute.
  @Test func whatRefusalsTaughtIsForgottenInTime() {
    let second: UInt64 = 1_000_000_000
    let topic = topics.topic(named: "a")
    #expect(topic.isForgettable(at: 0))
    _ = topic.gate.refused(refusals: 1, sentAt: second, at: second, hold: 100)
    #expect(!topic.isForgettable(at: 60 * second) && topic.isForgettable(at: 62 * second))
    for _ in 0..<4 { _ = topic.gate.refused(refusals: 1, sentAt: second, at: second, hold: 100) }
    #expect(topic.gate.isRefused)
    #expect(!topic.isForgettable(at: 3_600 * second) && topic.isForgettable(at: 3_602 * second))
  }

  @Test func aTopicInDoubtTakesNobodyElsesRoom() {
    let first = SegmentTally()
    let second = SegmentTally()
    #expect(!isFull("a", first, 100))
    append(90, "a", first)
    #expect(!isFull("a", first, 100))
    append(40, "b", second)
    #expect(isFull("a", first, 100) && isFull("b", second, 100))
    _ = topics.topic(named: "a").gate.refused(refusals: 1, sentAt: 0, at: 0, hold: 100)
    #expect(!isFull("a", first, 100) && !isFull("b", second, 100))
    append(10, "a", first)
    #expect(isFull("a", first, 100) && !isFull("b", second, 100))
    topics.set(isOpen: false, closedAfter: 1000, at: 0)
    #expect(!isFull("a", first, 100))
  }

  private func isFull(_ name: String, _ tally: SegmentTally, _ readyPushes: Int) -> Bool {
    topics.isFull(for: name, of: tally.fanOut, readyPushes: readyPushes)
  }

  /// One that has all the room does not make another wait, which has its share in the end.
  @Test func roomIsSharedByFanOuts() {
    let giant = SegmentTally()
    let other = SegmentTally()
    append(100, "a", giant)
    #expect(isFull("a", giant, 100) && !isFull("a", other, 100))
    append(31, "a", other)
    #expect(!isFull("a", other, 100))
    append(1, "a", other)
    // Others have taken all the room: a turn is enough.
    #expect(isFull("a", other, 100))
    while topics.find("a")?.queue.count(of: giant.fanOut) ?? 0 > 49 { _ = take(1) }
    append(40, "a", other)
    #expect(!isFull("a", giant, 100) && !isFull("a", other, 100))
    append(1, "a", giant)
    #expect(isFull("a", giant, 100))
  }

  @Test func smallOnesHaveRoomOfTheirOwn() {
    let giant = SegmentTally()
    let small = SegmentTally(of: FanOut(isSmall: true))
    append(200, "a", giant)
    append(90, "a", small)
    #expect(isFull("a", giant, 100) && !isFull("a", small, 100))
    append(10, "a", small)
    #expect(isFull("a", small, 100))
  }

  /// What came back is in the way of its own fan-out alone.
  @Test func whatCameBackTakesNobodyElsesRoom() {
    let failing = SegmentTally()
    let other = SegmentTally()
    append(60, "a", other)
    let batch = PushBatch.made(
      topic: "a", Array(repeating: .production, count: 200), failing)
    for index in 0..<200 {
      let history = PushHistory(tries: 1, losses: 0, refusals: 0, mayHaveArrived: false)
      topics.topic(named: "a").take(ReadyPush(batch: batch, index: index, history: history))
    }
    #expect(isFull("a", failing, 200) && !isFull("a", other, 200))
  }

  @Test func segmentsKeepNoPlacesOnARouteThatLags() {
    let tally = SegmentTally()
    tally.mayStraggle = true
    append(4, "a", tally)
    #expect(tally.unsent == 4)
    topics.set(lags: true)
    #expect(tally.unsent == 0 && topics.lags)
    append(2, "b", tally)
    #expect(tally.unsent == 0)
    topics.set(lags: false)
    #expect(tally.unsent == 6)
  }

  @Test func segmentsKeepNoPlacesForWhatGetsNowhere() {
    let (bad, good, list) = (SegmentTally(), SegmentTally(), SegmentTally(of: FanOut()))
    list.mayStraggle = false
    for tally in [bad, good, list] { append(4, "a", tally) }
    topics.set(stuck: [bad.fanOut, list.fanOut])
    append(2, "b", bad)
    // Stragglers have left a segment once.
    #expect(bad.unsent == 0 && good.unsent == 4 && list.unsent == 4)
    topics.set(stuck: [good.fanOut])
    #expect(bad.unsent == 6 && good.unsent == 0)
    topics.set(stuck: [])
    #expect(good.unsent == 4 && topics.stuck.isEmpty)
  }

  @Test func thoseThatGetNowhereHaveRoomOfTheirOwn() {
    let (bad, good) = (SegmentTally(), SegmentTally())
    append(100, "a", bad)
    append(40, "a", good)
    #expect(isFull("a", bad, 100) && isFull("a", good, 100))
    topics.set(stuck: [bad.fanOut])
    #expect(isFull("a", bad, 100) && !isFull("a", good, 100))
    append(60, "a", good)
    #expect(isFull("a", good, 100))
  }

  @Test func topicsWithoutPushesAreForgottenWhenTheirRefusalsAreOld() {
    append(1, "a")
    _ = topics.topic(named: "b")
    _ = topics.topic(named: "c").gate.refused(refusals: 1, sentAt: 0, at: 0, hold: 100)
    #expect(topics.forget(at: 1).map(\.name) == ["b"])
    #expect(topics.forget(at: 61_000_000_000).map(\.name) == ["c"])
    #expect(topics.all.map(\.name) == ["a"] && topics.find("c") == nil)
  }

  @Test func opensWhenTheFirstHoldEnds() {
    append(1, "a")
    append(1, "b")
    #expect(topics.opensAt(after: 0) == nil)
    for (name, hold) in [("a", 300), ("b", 200), ("c", 100)] {
      for _ in 0..<4 {
        _ = topics.topic(named: name).gate.refused(
          refusals: 1, sentAt: 0, at: 0, hold: UInt64(hold))
      }
    }
    // Nothing waits for the third.
    #expect(topics.opensAt(after: 0) == 200 && topics.opensAt(after: 200) == 300)
    #expect(topics.opensAt(after: 300) == nil)
  }

  @Test func theOldestIsOfATopicThatNothingIsKnownAgainst() {
    #expect(topics.oldest == nil)
    append(1, "a", at: 5)
    append(1, "b", at: 7)
    #expect(topics.oldest == 5)
    _ = topics.topic(named: "a").gate.refused(refusals: 1, sentAt: 0, at: 0, hold: 100)
    #expect(topics.oldest == 7)
  }

  @Test func oneThatAskedMakesRoomForAnother() {
    append(1, "a")
    let topic = topics.topic(named: "a")
    _ = topic.gate.refused(refusals: 1, sentAt: 0, at: 0, hold: 100)
    for _ in 0..<4 { topic.gate.probeSent(at: 0) }
    #expect(!topic.canSend(at: 0) && topics.sendableCount(at: 0) == 0)
    let batch = PushBatch.made(topic: "a", [.production], SegmentTally())
    var push = ReadyPush(batch: batch, index: 0, history: PushHistory())
    #expect(!topics.back(push).isProbe && !topic.canSend(at: 0))
    push.isProbe = true
    #expect(!topics.back(push).isProbe && topic.canSend(at: 0))
    #expect(topics.sendableCount(at: 0) == 1)
  }
}
