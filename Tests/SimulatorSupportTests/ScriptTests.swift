import Glibc
import SimulatorSupport
import Testing
import Text

@Suite struct ScriptTests {
  @Test func aStepHoldsForItsTriesAndTheLastForEver() {
    let steps = [ScriptStep("a", times: 2), ScriptStep("b", times: 1), ScriptStep("c")]
    #expect((0..<5).map { steps.answer(tries: $0) } == ["a", "a", "b", "c", "c"])
    #expect(steps.dropLast(1).map { $0 }.answer(tries: 3) == nil)
  }

  @Test func theTokenIsSoughtBeforeTheBeginnings() {
    let rules = ScriptRules([([], "ab"), (["abc", "x"], ""), (["abc"], "")])
    #expect(rules.rule(for: Array("abc".utf8)) == 1)
    #expect(rules.rule(for: Array("abd".utf8)) == 0)
    #expect(rules.rule(for: Array("b".utf8)) == nil)
  }

  @Test func sharesAreDrawnAsOftenAsTheySay() throws {
    let shares = [ScriptShare("a", probability: 0.25), ScriptShare("b", probability: 0.5)]
    try shares.check()
    var random = SplitMix64(seed: 7)
    let drawn = (0..<10_000).map { _ in shares.draw(&random) }
    #expect((2400...2600).contains(drawn.count { $0 == "a" }))
    #expect((4850...5150).contains(drawn.count { $0 == "b" }))
    #expect(throws: SimulatorError.self) {
      try (shares + [ScriptShare("c", probability: 0.3)]).check()
    }
  }

  @Test func anAnswerWaitsForTheLatencyAndItsJitter() {
    var random = SplitMix64(seed: 7)
    #expect(random.delay(latency: .milliseconds(3), jitter: .zero) == 3_000_000)
    for _ in 0..<1000 {
      let delay = random.delay(latency: .milliseconds(3), jitter: .milliseconds(1))
      #expect((2_000_000...4_000_000).contains(delay))
    }
  }

  @Test func aDirectoryIsMadeForItsOwnerAndNoLinkIsFollowed() throws {
    let place = "/tmp/simulator-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    defer {
      rmdir(place)
      unlink(place + ".link")
    }
    try SimulatorDirectory.make(place)
    try SimulatorDirectory.make(place)
    var status = stat()
    #expect(lstat(place, &status) == 0 && status.st_mode & 0o777 == 0o700)
    #expect(symlink(place, place + ".link") == 0)
    #expect(throws: SimulatorError.self) { try SimulatorDirectory.make(place + ".link") }
  }
}
