import Model
import Testing
import Text

@testable import Deliver

@Suite struct FanOutVoicesTests {
  private let bad = FanOut()
  private let good = FanOut()

  /// - Returns: whether the bad one was found to speak for itself, and at which of its failures.
  private func alternate(
    _ voices: inout FanOutVoices, _ times: Int, bad run: Int = 1, good taken: Int = 3
  ) -> Int? {
    for time in 0..<times {
      for _ in 0..<taken { voices.taken(good) }
      for _ in 0..<run where voices.failed(bad, at: 1) { return time + 1 }
    }
    return nil
  }

  private func fails(_ fanOut: FanOut, _ voices: inout FanOutVoices, _ times: Int = 1) {
    for _ in 0..<times {
      let shows = voices.failed(fanOut, at: 1)
      #expect(!shows)
    }
  }

  private func expectAlternation(_ voices: inout FanOutVoices) {
    let found = alternate(&voices, 10)
    #expect(found.map { (3...6).contains($0) } == true)
  }

  @Test func oneThatFailsWhileOthersAreTakenSpeaksForItself() {
    var voices = FanOutVoices()
    fails(bad, &voices, 500)
    #expect(!voices.speaksForItself(bad) && !voices.areToBlame)
    expectAlternation(&voices)
    #expect(voices.speaksForItself(bad) && voices.areToBlame && !voices.speaksForItself(good))
  }

  @Test func onceIsNotEnough() {
    var voices = FanOutVoices()
    let found = alternate(&voices, 2, bad: 50, good: 50)
    #expect(found == nil)
    fails(bad, &voices, 50)
    #expect(!voices.speaksForItself(bad))
  }

  @Test func severalMay() {
    var voices = FanOutVoices()
    let all = (0..<5).map { _ in FanOut() }
    var found = 0
    for _ in 0..<20 {
      voices.taken(good)
      for fanOut in all where voices.failed(fanOut, at: 1) { found += 1 }
    }
    #expect(found == 5 && voices.areToBlame)
  }

  /// It refuses a part of all: nobody speaks for itself.
  @Test(arguments: [0.1, 0.3, 0.5, 0.8])
  func whoIsRefusedAtRandomSpeaksForTheServer(share: Double) {
    for seed in 0..<20 {
      var random = SplitMix64(seed: UInt64(seed))
      var voices = FanOutVoices()
      let all = (0..<4).map { _ in FanOut() }
      var found = 0
      for push in 0..<20_000 {
        let fanOut = all[push / 8 % 4]
        if Double.random(in: 0..<1, using: &random) >= share {
          voices.taken(fanOut)
        } else if voices.failed(fanOut, at: 1) {
          found += 1
        }
      }
      #expect(found == 0, "seed \(seed)")
    }
  }

  @Test func oneThatIsTakenAgainSpeaksForTheServer() {
    var voices = FanOutVoices()
    expectAlternation(&voices)
    for _ in 0..<10 { voices.taken(bad) }
    #expect(!voices.speaksForItself(bad))
    fails(bad, &voices)
  }

  /// The rate was lowered for what others could not send either.
  @Test func whereOthersFailTooItIsNotToBlameAlone() {
    var voices = FanOutVoices()
    for _ in 0..<30 {
      for _ in 0..<3 { voices.taken(good) }
      _ = voices.failed(good, at: 1)
      _ = voices.failed(bad, at: 1)
    }
    #expect(voices.speaksForItself(bad) && !voices.areToBlame)
  }

  /// After its first answer, until one of its pushes is taken.
  @Test func oneOfWhichNothingWasTakenIsUnheard() {
    var voices = FanOutVoices()
    voices.taken(good)
    #expect(voices.unheard.isEmpty)
    fails(bad, &voices)
    fails(good, &voices)
    voices.taken(good)
    #expect(voices.unheard.map(ObjectIdentifier.init) == [ObjectIdentifier(bad)])
    voices.taken(bad)
    #expect(voices.unheard.isEmpty)
  }

  @Test func whatIsOldIsForgotten() {
    var voices = FanOutVoices()
    expectAlternation(&voices)
    voices.forget(at: 59_000_000_000)
    #expect(voices.speaksForItself(bad) && !voices.isEmpty)
    voices.forget(at: 61_000_000_000)
    #expect(!voices.speaksForItself(bad) && voices.isEmpty)
  }

  @Test func onlySoManyAreRemembered() {
    var voices = FanOutVoices()
    expectAlternation(&voices)
    for number in 0..<1_000 { _ = voices.failed(FanOut(), at: UInt64(number + 2)) }
    #expect(!voices.speaksForItself(bad))
    expectAlternation(&voices)
  }
}
