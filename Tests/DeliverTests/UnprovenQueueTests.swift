import Model
import Testing

@testable import Deliver

/// Pushes to tokens of which nothing is known go in the order they came, so many at most.
@Suite struct UnprovenQueueTests {
  private let tally = SegmentTally()

  private func push(_ index: Int, _ tally: SegmentTally) -> ReadyPush {
    let batch = PushBatch.made(topic: "a.b", [.production], tally)
    return ReadyPush(batch: batch, index: index, history: PushHistory())
  }

  @Test func theyGoInTheirOrder() {
    var queue = UnprovenQueue()
    #expect(queue.next() == nil)
    for index in 0..<UnprovenQueue.maximum { queue.append(push(index, tally)) }
    #expect(queue.room == 0 && queue.count == UnprovenQueue.maximum)
    for index in 0..<400 { #expect(queue.next()?.index == index) }
    #expect(queue.room == 400)
    queue.putBack(push(399, tally))
    for index in 399..<UnprovenQueue.maximum { #expect(queue.next()?.index == index) }
    #expect(queue.next() == nil && queue.count == 0)
  }

  @Test func aPushTakesNoMoreThanIsCounted() {
    #expect(MemoryLayout<ReadyPush>.stride <= UnprovenQueue.bytesOfPush)
  }

  @Test func thoseOfASegmentAreTakenOut() {
    var queue = UnprovenQueue()
    let other = SegmentTally()
    for index in 0..<10 { queue.append(push(index, index % 2 == 0 ? tally : other)) }
    #expect(queue.next()?.index == 0)
    #expect(queue.take { $0.tally === other }.map(\.index) == [1, 3, 5, 7, 9])
    #expect(queue.take { $0.tally === other }.isEmpty)
    #expect(queue.next()?.index == 2 && queue.count == 3)
  }
}
