import Model
import Testing

@testable import Deliver

/// Pushes that are apart, in their topic's queue.
@Suite struct UnprovenQueueTests {
  private let tally = SegmentTally()
  private let other = SegmentTally()

  private func queue(_ batches: PushBatch...) -> ReadyQueue {
    var queue = ReadyQueue(environment: .production)
    for batch in batches { _ = queue.append(batch) }
    return queue
  }

  private func batch(_ count: Int, _ tally: SegmentTally, expiresAt: Int64 = .max) -> PushBatch {
    .made(
      topic: "a", Array(repeating: .production, count: count), tally, expiresAt: expiresAt)
  }

  /// Sets the next apart, so many in one piece at most.
  private func part(_ queue: inout ReadyQueue, _ count: Int, at now: UInt64 = 0) {
    let before = queue.apart.count
    while queue.apart.count < before + count,
      let run = queue.upcoming(atMost: before + count - queue.apart.count)
    {
      queue.setApart(run, run.count, at: now)
    }
  }

  @Test func aPushTakesNoMoreThanIsCounted() {
    #expect(MemoryLayout<UnprovenQueue.Item?>.stride <= UnprovenQueue.bytesOfPush)
  }

  /// They are still here, and nobody's turn brings them.
  @Test func theyCountAndHaveNoTurn() {
    var queue = queue(batch(10, tally))
    part(&queue, 4)
    #expect(queue.count == 10 && queue.inTurn == 6 && queue.apart.count == 4)
    #expect(queue.sendable == 6 && queue.hasOthers && queue.contains(tally))
    #expect(queue.firsts.reduce(0) { $0 + $1.count } == 10)
    var sent: [Int] = []
    while let push = queue.next() { sent.append(push.index) }
    #expect(sent == Array(4..<10))
    #expect(queue.count == 4 && queue.inTurn == 0 && !queue.hasOthers && queue.contains(tally))
  }

  @Test func theyGoInTheirOrder() {
    var queue = queue(batch(UnprovenQueue.maximum, tally))
    part(&queue, UnprovenQueue.maximum)
    for index in 0..<UnprovenQueue.maximum {
      guard let push = queue.apart.first else { break }
      #expect(push.index == index && push.isFirst && !push.hasWaitedApart)
      queue.drop(ReadyRun(push, from: .apart), 1)
    }
    #expect(queue.count == 0 && queue.apart.oldest == nil)
  }

  /// Those that came first come back first, and wait with all others.
  @Test func theyComeBack() {
    var queue = queue(batch(10, tally))
    part(&queue, 2, at: 5)
    part(&queue, 3, at: 6)
    queue.rejoin { $0 <= 4 }
    #expect(queue.apart.count == 5 && queue.apart.oldest == 5)
    queue.rejoin { $0 <= 5 }
    #expect(queue.apart.count == 3 && queue.apart.oldest == 6)
    #expect(queue.count == 10 && queue.inTurn == 7)
    let back = queue.next()
    #expect(back?.hasWaitedApart == true && back?.isFirst == true)
    queue.rejoin()
    #expect(queue.apart.count == 0 && queue.inTurn == 9)
    var sent = 0
    while queue.next() != nil { sent += 1 }
    #expect(sent == 9 && queue.count == 0)
  }

  @Test func theyLeaveWithTheirSegmentAndExpire() {
    var queue = queue(batch(4, tally), batch(6, other, expiresAt: 100))
    part(&queue, 10)
    #expect(queue.apart.count == 10)
    #expect(queue.take(of: tally).map(\.index) == [0, 1, 2, 3])
    #expect(!queue.contains(tally) && queue.count == 6 && queue.apart.count == 6)
    #expect(queue.takeExpired(at: 99).isEmpty)
    #expect(queue.takeExpired(at: 100).count == 6 && queue.count == 0)
  }

  /// What is closed is parked, and comes back from there.
  @Test func whereATopicIsClosedNobodyIsApart() {
    let topics = RouteTopics(environment: .production)
    let topic = topics.topic(named: "a")
    _ = topic.queue.append(batch(10, tally))
    tally.willSend(10)
    part(&topic.queue, 7)
    #expect(topics.apartCount == 7 && topics.readyCount == 10 && topics.parkedCount == 0)
    topics.set(isOpen: false, closedAfter: 1, at: 1)
    #expect(topics.apartCount == 0 && topics.parkedCount == 10 && tally.unsent == 0)
    topics.set(isOpen: true, closedAfter: 1, at: 1)
    #expect(topics.readyCount == 10 && tally.unsent == 10)
  }
}
