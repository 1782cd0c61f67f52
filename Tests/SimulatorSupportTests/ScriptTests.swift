import Testing
import Text

@testable import SimulatorSupport

@Suite struct ScriptTests {
  @Test func stepsAreGivenInTurn() {
    let steps = [ScriptStep("a", times: 2), ScriptStep("b", times: 1)]
    #expect((0..<5).map { steps.answer(tries: $0) } == ["a", "a", "b", nil, nil])
    let endless = [ScriptStep("a", times: 1), ScriptStep("b")]
    #expect((0..<4).map { endless.answer(tries: $0) } == ["a", "b", "b", "b"])
  }

  @Test func aRuleThatNamesTheTokenComesBeforeAPrefix() {
    let rules = ScriptRules([([], "a"), (["ab"], ""), (["ab"], ""), ([], "ab")])
    #expect(rules.rule(for: Array("ab".utf8)) == 1)
    #expect(rules.rule(for: Array("abc".utf8)) == 0)
    #expect(rules.rule(for: Array("b".utf8)) == nil)
  }

  @Test func sharesAreDrawnAsOftenAsTheySay() {
    let shares = [ScriptShare("a", probability: 0.25), ScriptShare("b", probability: 0.5)]
    var random = SplitMix64(seed: 1)
    var counts: [String: Int] = [:]
    for _ in 0..<10_000 {
      let drawn: String? = shares.draw(&random)
      counts[drawn ?? "none", default: 0] += 1
    }
    #expect(abs(counts["a", default: 0] - 2_500) < 200)
    #expect(abs(counts["b", default: 0] - 5_000) < 200)
  }

  @Test func sharesAreOneTogetherAtMost() {
    let whole = [ScriptShare("a", probability: 0.5), ScriptShare("b", probability: 0.5)]
    #expect(throws: Never.self) { try whole.check() }
    let more = whole + [ScriptShare("c", probability: 0.01)]
    #expect(throws: SimulatorError.self) { try more.check() }
  }

  @Test func delaysAreWithinTheJitter() {
    var random = SplitMix64(seed: 1)
    #expect(random.delay(latency: .milliseconds(5), jitter: .zero) == 5_000_000)
    for _ in 0..<1_000 {
      let delay = random.delay(latency: .milliseconds(5), jitter: .milliseconds(2))
      #expect((3_000_000...7_000_000).contains(delay))
    }
  }
}
