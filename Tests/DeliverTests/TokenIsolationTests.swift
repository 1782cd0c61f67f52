import Model
import Testing

@testable import Deliver

/// When pushes part, and which are known.
@Suite struct TokenIsolationTests {
  private func push() -> ReadyPush {
    let batch = PushBatch.made(topic: "a.b", [.production], SegmentTally())
    return ReadyPush(batch: batch, index: 0, history: PushHistory())
  }

  private func isKnown(_ isolation: TokenIsolation) -> Bool {
    isolation.look(at: ReadyRun(push())).areKnown
  }

  @Test func nothingIsLearntInOrdinaryTimes() {
    let isolation = TokenIsolation()
    isolation.took(push())
    isolation.forget(at: 1)
    #expect(!isolation.isOn && !isKnown(isolation))
  }

  @Test func itIsOnForAnHourAndForgetsThen() {
    let isolation = TokenIsolation()
    isolation.begin(at: 10)
    isolation.took(push())
    #expect(isolation.isOn && isKnown(isolation))
    isolation.begin(at: 20)
    isolation.forget(at: 19 + TokenIsolation.memory)
    #expect(isolation.isOn && isKnown(isolation))
    isolation.forget(at: 20 + TokenIsolation.memory)
    #expect(!isolation.isOn && !isKnown(isolation))
    isolation.took(push())
    #expect(!isKnown(isolation))
  }

  /// While no connection is to be had for those apart, what is taken is still learnt.
  @Test func itRestsAndGoesOn() {
    let isolation = TokenIsolation()
    isolation.begin(at: 0)
    isolation.pause(at: 0)
    #expect(!isolation.isOn)
    isolation.took(push())
    #expect(isKnown(isolation))
    isolation.begin(at: 1)
    isolation.forget(at: TokenIsolation.rest - 1)
    #expect(!isolation.isOn)
    isolation.forget(at: TokenIsolation.rest)
    #expect(isolation.isOn && isKnown(isolation))
  }

  /// A run ends where its pushes are no longer alike.
  @Test func aRunIsAsLongAsItsPushesAreAlike() {
    let isolation = TokenIsolation()
    let batch = PushBatch.made(topic: "a.b", [.production, .production], SegmentTally())
    let run = ReadyRun(ReadyPush(batch: batch, index: 0, history: PushHistory()), count: 2)
    #expect(isolation.look(at: run) == (2, false))
  }

  @Test func whatMostAreIsOfLately() {
    let isolation = TokenIsolation()
    #expect(!isolation.areMostUnknown)
    isolation.note(100, areKnown: false)
    #expect(isolation.areMostUnknown)
    isolation.note(100, areKnown: true)
    #expect(!isolation.areMostUnknown)
    isolation.note(100_000, areKnown: true)
    isolation.note(900, areKnown: false)
    #expect(isolation.areMostUnknown)
  }
}
