import Testing

@testable import Deliver

/// A table of fixed size that knows which tokens were taken.
@Suite struct TakenTokensTests {
  private func hash(_ number: Int) -> UInt64 {
    Array(String(number + 1 << 60, radix: 16).utf8).withUnsafeBytes { TakenTokens.hash($0) }
  }

  @Test func itKnowsWhatWasPutIn() {
    var taken = TakenTokens()
    #expect(!taken.contains(hash(1)))
    for number in 0..<1000 { taken.insert(hash(number)) }
    #expect((0..<1000).allSatisfy { taken.contains(hash($0)) })
    #expect((1000..<2000).count { taken.contains(hash($0)) } < 10)
  }

  /// Of two generations the older goes when there is no room for more.
  @Test func itForgetsTheOldestAndMistakesFew() {
    var taken = TakenTokens()
    let generation = TakenTokens.tokensOfGeneration
    for number in 0..<3 * generation { taken.insert(hash(number)) }
    let last = 3 * generation
    #expect((last - 1000..<last).allSatisfy { taken.contains(hash($0)) })
    #expect((0..<1000).count { taken.contains(hash($0)) } < 300)
    #expect((last..<last + 10_000).count { taken.contains(hash($0)) } < 2_500)
  }

  /// What is taken again and again is known, however many others come.
  @Test func whatIsTakenAgainStays() {
    var taken = TakenTokens()
    for number in 0..<2 * TakenTokens.tokensOfGeneration {
      if number % 100_000 == 0 { taken.insert(hash(-1)) }
      taken.insert(hash(number))
    }
    #expect(taken.contains(hash(-1)))
  }

  /// Tokens need not have the usual size.
  @Test func everyByteCounts() {
    let tokens = ["", "a", "b", "abcdefgh", "abcdefgi", "abcdefgha", "abcdefghb", "bbcdefgha"]
    let hashes = tokens.map { Array($0.utf8).withUnsafeBytes { TakenTokens.hash($0) } }
    #expect(Set(hashes).count == tokens.count)
  }
}
