import Model
import Testing

@testable import Deliver

@Suite struct TopicQueueTests {
  @Test func handsOutItsEnvironmentInOrderAndReturnedOnesFirst() throws {
    let queue = TopicQueue.made()
    let mixed = batch([.production, .sandbox, .production])
    #expect(append(mixed, to: queue) == 2)
    #expect(append(batch([.sandbox]), to: queue) == 0)
    #expect(append(batch([.production]), to: queue) == 1)
    let head = queue.next()
    let first = try #require(head)
    #expect(first.index == 0 && first.isFirst && first.history.isEmpty)
    queue.append(tried(first.batch, 0, 1))
    #expect(queue.count == 3)
    #expect(queue.next()?.history.tries == 1)
    #expect(queue.next()?.index == 2)
    #expect(queue.next()?.index == 0)
    #expect(queue.next() == nil)
    #expect(queue.count == 0)
  }

  /// Stragglers of a topic whose credentials were in doubt: another push must ask, also when the
  /// one that was refused stands first in its list.
  @Test func pushesRefusedInAnotherSegmentAskLast() {
    let queue = TopicQueue.made()
    let stragglers = batch([.production, .production, .production])
    stragglers.setHistory(
      0, PushHistory(tries: 0, losses: 0, refusals: 1, mayHaveArrived: false))
    #expect(append(stragglers, to: queue) == 3)
    #expect(queue.count == 3)
    #expect(queue.firsts.reduce(0) { $0 + $1.count } == 3)
    _ = queue.gate.refused(refusals: 1, sentAt: 1, at: 1, hold: 100)
    #expect(queue.next()?.index == 1)
    #expect(queue.next()?.index == 2)
    #expect(queue.next()?.index == 0)
    #expect(queue.next() == nil)
    #expect(append(stragglers, to: queue) == 3)
    _ = queue.gate.taken(sentAt: 2)
    #expect(queue.next()?.index == 0)
    let rest = queue.take(of: stragglers.tally)
    #expect(rest.map(\.index).sorted() == [1, 2])
  }

  @Test func pushesThatWereNeverTriedGoTogether() throws {
    let queue = TopicQueue.made()
    let plain = batch(Array(repeating: .production, count: 5))
    let mixed = batch([.production, .sandbox, .production])
    #expect(append(plain, to: queue) == 5 && append(mixed, to: queue) == 2)
    var upcoming = queue.upcoming(atMost: 3)
    let run = try #require(upcoming)
    #expect(run.first.index == 0 && run.count == 3)
    // The connection took two of three.
    queue.drop(run, 2)
    queue.append(tried(plain, 0, 1))
    #expect(queue.count == 6)
    upcoming = queue.upcoming(atMost: 9)
    let back = try #require(upcoming)
    #expect(back.count == 1 && back.first.history.tries == 1)
    queue.drop(back, 1)
    upcoming = queue.upcoming(atMost: 9)
    let rest = try #require(upcoming)
    #expect(rest.first.index == 2 && rest.count == 3)
    queue.drop(rest, 3)
    // Its pushes of the other environment are not for this queue.
    #expect(queue.next()?.index == 0 && queue.next()?.index == 2 && queue.next() == nil)
  }

  @Test func takesOutWhatExpiredAndKeepsTheRest() throws {
    let queue = TopicQueue.made()
    _ = queue.append(batch([.production, .production], expiresAt: 100))
    _ = queue.append(batch([.production], expiresAt: 200))
    let head = queue.next()
    let begun = try #require(head)
    queue.append(tried(begun.batch, 0, 2))
    let early = queue.takeExpired(at: 99)
    #expect(early.isEmpty)
    let expired = queue.takeExpired(at: 100)
    #expect(expired.map(\.index).sorted() == [0, 1])
    #expect(queue.count == 1)
    #expect(queue.next()?.batch.headers.expiresAt == 200)
  }

  @Test func survivesManyBatches() {
    let queue = TopicQueue.made()
    var taken = 0
    for round in 0..<500 {
      _ = queue.append(batch([.production, .sandbox, .production]))
      if round % 3 > 0 { while taken < round, queue.next() != nil { taken += 1 } }
    }
    while queue.next() != nil { taken += 1 }
    #expect(taken == 1000)
  }

  /// A batch keeps a megabyte: it goes with the last of its pushes, and not when others have gone.
  @Test func noBatchIsKeptThatHasLeft() {
    let queue = TopicQueue.made()
    let tally = SegmentTally()
    weak var new: PushBatch?
    weak var returned: PushBatch?
    do {
      let batches = (0..<2).map { _ in PushBatch.made(topic: "a", [.production], tally) }
      new = batches[0]
      returned = batches[1]
      _ = queue.append(batches[0])
      queue.append(ReadyPush(batch: batches[1], index: 0, history: PushHistory()))
    }
    for _ in 0..<2 {
      _ = queue.append(.made(topic: "a", [.production], tally))
      queue.append(
        ReadyPush(
          batch: .made(topic: "a", [.production], tally), index: 0, history: PushHistory()))
    }
    for _ in 0..<2 { _ = queue.next() }
    #expect(new == nil && returned == nil && queue.count == 4)
  }

  private func append(_ batch: PushBatch, to queue: TopicQueue) -> Int {
    queue.append(batch).taken
  }

  private func tried(_ batch: PushBatch, _ index: Int, _ tries: UInt16) -> ReadyPush {
    let history = PushHistory(tries: tries, losses: 0, refusals: 0, mayHaveArrived: false)
    return ReadyPush(batch: batch, index: index, history: history)
  }

  private func batch(_ destinations: [Destination], expiresAt: Int64 = .max) -> PushBatch {
    .made(topic: "a.b", destinations, SegmentTally(), expiresAt: expiresAt)
  }
}
