import Model
import Testing

@testable import Deliver

/// Pushes that were never answered in connections that were well, and when they go.
@Suite struct SilentQueueTests {
  private static let second: UInt64 = 1_000_000_000

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
    #expect(queue.next(atMost: 0, at: 1).isEmpty)
    #expect(queue.next(atMost: 50, at: 1).count == 50)
    #expect(queue.next(atMost: 50, at: 1).count == 30 && queue.count == 0)
    #expect(queue.next(atMost: 50, at: 1).isEmpty)
  }

  @Test func fewLargeSegmentsAreWaitedForAtATime() {
    var queue = SilentQueue()
    let now = 100 * Self.second
    for _ in 0..<6 { for push in pushes(3, of: 65) { queue.append(push) } }
    // Four at once, and all of each.
    #expect(queue.next(atMost: 100, at: now).count == 12)
    #expect(queue.next(atMost: 100, at: now + 8 * Self.second - 1).isEmpty)
    // Others do not wait behind them.
    for push in pushes(5, of: 5) { queue.append(push) }
    #expect(queue.next(atMost: 100, at: now + 8 * Self.second - 1).count == 5)
    #expect(queue.next(atMost: 100, at: now + 8 * Self.second).count == 3)
    #expect(queue.next(atMost: 100, at: now + 16 * Self.second - 1).isEmpty)
    #expect(queue.next(atMost: 100, at: now + 16 * Self.second).count == 3 && queue.count == 0)
  }

  @Test func aLargeSegmentThatIsWaitedForBringsMore() {
    var queue = SilentQueue()
    let some = pushes(9, of: 65)
    for push in some {
      queue.append(push)
      #expect(queue.next(atMost: 100, at: 1).count == 1)
    }
    // It took one turn and not nine: three others have theirs.
    for _ in 0..<4 { for push in pushes(1, of: 65) { queue.append(push) } }
    #expect(queue.next(atMost: 100, at: 1).count == 3)
  }

  /// Its stragglers wait until it has settled.
  @Test func aSegmentThatHasLostStragglersIsNotMadeToWait() {
    var queue = SilentQueue()
    let some = pushes(2, of: 3)
    for push in some { queue.append(push) }
    some[0].batch.postpone(0, history: PushHistory(), askAgainAt: 0)
    #expect(queue.next(atMost: 100, at: 1).isEmpty && queue.count == 2)
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
