import Model
import Testing

@testable import Deliver

/// Which tokens were taken, and when that is asked.
@Suite struct TokenIsolationTests {
  private let isolation = TokenIsolation()

  private func push(_ token: String = "00ff") -> ReadyPush {
    let batch = PushBatch.made(topic: "a.b", tokens: [token], SegmentTally())
    return ReadyPush(batch: batch, index: 0, history: PushHistory())
  }

  private func isKnown(_ push: ReadyPush) -> Bool { isolation.look(at: ReadyRun(push)).areKnown }

  /// In ordinary times nothing is noted of what is taken.
  @Test func nothingIsLearntInOrdinaryTimes() {
    let traffic = RouteTraffic(streamsPerConnection: 500)
    #expect(!traffic.isolation.isWatching && !traffic.isolation.isOn(at: 1))
    traffic.accepted(push(), at: 1)
    #expect(!traffic.isolation.look(at: ReadyRun(push())).areKnown)
    traffic.isolation.begin(at: 2)
    traffic.accepted(push(), at: 3)
    #expect(traffic.isolation.look(at: ReadyRun(push())).areKnown)
    traffic.forget(at: 2 + TokenIsolation.memory)
    #expect(!traffic.isolation.isWatching)
  }

  @Test func itIsOnForAnHourAndForgetsThen() {
    isolation.begin(at: 10)
    isolation.took(push())
    #expect(isolation.isOn(at: 10) && isKnown(push()) && !isKnown(push("00fe")))
    isolation.begin(at: 20)
    isolation.forget(at: 19 + TokenIsolation.memory)
    #expect(isolation.isWatching && isKnown(push()))
    isolation.forget(at: 20 + TokenIsolation.memory)
    #expect(!isolation.isWatching && !isolation.isOn(at: 30) && !isKnown(push()))
  }

  /// While no connection takes those apart, what is taken is noted all the same; and that another
  /// connection is made to pay does not end it.
  @Test func itRestsAndGoesOn() {
    isolation.begin(at: 0)
    isolation.rest(at: 0)
    isolation.begin(at: 1)
    #expect(isolation.isWatching && !isolation.isOn(at: TokenIsolation.rest - 1))
    #expect(isolation.isOn(at: TokenIsolation.rest))
  }

  /// A run ends where its pushes are no longer alike.
  @Test func aRunIsAsLongAsItsPushesAreAlike() {
    let tokens = ["a0", "a1", "b0", "b1", "b2", "a2"]
    let batch = PushBatch.made(topic: "a.b", tokens: tokens, SegmentTally())
    for index in [0, 1, 5] {
      isolation.took(ReadyPush(batch: batch, index: index, history: PushHistory()))
    }
    let looks = [(0, 6, 2, true), (2, 4, 3, false), (3, 1, 1, false), (5, 1, 1, true)]
    for (index, length, count, areKnown) in looks {
      let push = ReadyPush(batch: batch, index: index, history: PushHistory())
      #expect(isolation.look(at: ReadyRun(push, count: length)) == (count, areKnown))
    }
  }
}
