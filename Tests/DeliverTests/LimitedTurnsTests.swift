import Model
import Testing

@testable import Deliver

/// Whose pushes go when a limit of pushes a second holds some of them up.
@Suite struct LimitedTurnsTests {
  private let queue = TopicQueue.made()
  private let limit = PushLimit(.app("a.b"), rate: 100)
  private let free = SegmentTally()
  private let limited: SegmentTally
  private let small: SegmentTally

  init() {
    limited = SegmentTally(of: FanOut(limits: [limit]))
    small = SegmentTally(of: FanOut(isSmall: true, limits: [limit]))
  }

  private mutating func append(_ count: Int, _ tally: SegmentTally, at now: UInt64 = 0) {
    let destinations = [Destination](repeating: .production, count: count)
    _ = queue.append(.made(topic: "a.b", destinations, tally), at: now)
  }

  /// Sends what may go, `pushes` at most: how many of each.
  private mutating func send(_ pushes: Int) -> (free: Int, limited: Int, small: Int) {
    var sent = (free: 0, limited: 0, small: 0)
    var left = pushes
    while left > 0, queue.canSend(at: 0), let run = queue.upcoming(atMost: left, turn: 10) {
      let tally = run.first.tally
      tally.fanOut.sent(run.count)
      queue.drop(run, run.count)
      left -= run.count
      if tally === free { sent.free += run.count }
      if tally === limited { sent.limited += run.count }
      if tally === small { sent.small += run.count }
    }
    if left > 0 { queue.lack() }
    return sent
  }

  @Test mutating func noMoreGoesThanTheLimitLets() {
    append(30, limited)
    #expect(send(100) == (0, 0, 0) && limit.isWanted)
    limit.grant(7)
    #expect(send(100) == (0, 7, 0))
    #expect(queue.count == 23 && queue.sendable == 0 && limit.isShort)
    limit.grant(12)
    #expect(queue.sendable == 23)
    #expect(send(5) == (0, 5, 0))
    #expect(send(100) == (0, 7, 0))
    limit.grant(100)
    #expect(send(100) == (0, 11, 0) && queue.count == 0)
  }

  @Test mutating func othersGoOn() {
    append(50, limited)
    append(50, free)
    limit.grant(3)
    #expect(send(100) == (50, 3, 0))
    append(20, free)
    #expect(queue.sendable == 20 && queue.canSend(at: 0))
    #expect(send(100) == (20, 0, 0))
    #expect(!queue.canSend(at: 0))
  }

  @Test mutating func smallOnesGoFirst() {
    append(50, limited)
    append(5, small)
    limit.grant(8)
    #expect(send(100) == (0, 3, 5))
  }

  /// A fan-out that loses its tokens in its turn gives the turn away.
  @Test mutating func aTurnEndsWithTheTokens() {
    append(50, limited)
    limit.grant(4)
    #expect(send(2) == (0, 2, 0))
    append(50, free)
    limit.take(2)
    #expect(send(10) == (10, 0, 0))
  }

  /// How long they wait says nothing of the server, and they take no room from others.
  @Test mutating func whatWaitsForALimitHasARoomOfItsOwn() {
    append(50, limited, at: 7)
    append(5, free, at: 9)
    #expect(queue.oldest == 7 && queue.sharing(.large).fresh == 55)
    limit.grant(1)
    _ = send(1)
    limit.lack()
    #expect(queue.oldest == 9)
    #expect(queue.sharing(.large).fanOuts == 1 && queue.sharing(nil).fanOuts == 1)
  }
}
