import Model
import Testing

@testable import Deliver

/// Pushes that were never answered in connections that were well, and when they go.
@Suite struct SilentQueueTests {
  private func pushes(_ count: Int, of total: Int, mayStraggle: Bool = true) -> [ReadyPush] {
    let tally = SegmentTally()
    tally.pushes = total
    tally.mayStraggle = mayStraggle
    let batch = PushBatch.made(topic: "a.b", [.production], tally, expiresAt: 1000)
    return (0..<count).map { ReadyPush(batch: batch, index: $0, history: PushHistory()) }
  }

  @Test func thoseOfSmallSegmentsGoTogetherAsManyAsThereIsRoomFor() {
    var queue = SilentQueue()
    for push in pushes(40, of: SilentQueue.fewPushes) { queue.append(push) }
    for push in pushes(40, of: 3000, mayStraggle: false) { queue.append(push) }
    #expect(queue.next(atMost: 0).isEmpty)
    #expect(queue.next(atMost: 50).count == 50)
    #expect(queue.next(atMost: 50).count == 30 && queue.count == 0)
    #expect(queue.next(atMost: 50).isEmpty)
  }

  /// A batch of a large segment is not kept in memory for them.
  @Test func thoseOfLargeSegmentsLeaveThem() {
    var queue = SilentQueue()
    let large = pushes(3, of: SilentQueue.fewPushes + 1)
    for push in large + pushes(2, of: 2) { queue.append(push) }
    #expect(queue.readyCount == 2 && queue.count == 5)
    #expect(queue.next(atMost: 100).count == 2)
    #expect(queue.next(atMost: 100).isEmpty && queue.count == 3)
    #expect(queue.take { $0.tally === large[0].tally }.count == 3 && queue.count == 0)
  }

  /// Its stragglers wait until it has settled.
  @Test func aSegmentThatHasLostStragglersIsNotMadeToWait() {
    var queue = SilentQueue()
    let some = pushes(2, of: 3)
    for push in some { queue.append(push) }
    some[0].batch.postpone(0, history: PushHistory(), askAgainAt: 0)
    #expect(queue.next(atMost: 100).isEmpty && queue.count == 2)
  }

  @Test func givesOutWhatIsTakenBack() {
    var queue = SilentQueue()
    let some = pushes(3, of: 3)
    let others = pushes(2, of: 2)
    for push in some + others { queue.append(push) }
    #expect(queue.take { $0.tally === some[0].tally }.count == 3 && queue.count == 2)
    #expect(queue.take { $0.batch.headers.expiresAt <= 999 }.isEmpty)
    #expect(queue.take { $0.batch.headers.expiresAt <= 1000 }.count == 2 && queue.count == 0)
    #expect(queue.take { _ in true }.isEmpty)
  }
}
