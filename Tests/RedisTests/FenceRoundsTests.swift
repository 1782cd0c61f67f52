import Testing

@testable import Redis

/// A fence is done when two PINGs are answered that were sent after it was asked for, the second
/// after the first's answer.
@Suite struct FenceRoundsTests {
  private enum Step { case begin, answer }

  /// What comes of each step: `PING` when one goes out, behind the fences that are done.
  private func outcomes(_ steps: [Step]) -> [String] {
    var rounds = FenceRounds()
    return steps.map { step in
      switch step {
      case .begin: return rounds.begin() ? "PING" : ""
      case .answer:
        let (done, sends) = rounds.answer()
        return "\(done)" + (sends ? " PING" : "")
      }
    }
  }

  @Test func aFenceTakesTwoRounds() {
    #expect(outcomes([.begin, .answer, .answer]) == ["PING", "0 PING", "1"])
  }

  /// The PING that is on its way may have been answered already; and one goes at a time.
  @Test func whatIsOnItsWayDoesNotCount() {
    #expect(
      outcomes([.begin, .begin, .answer, .begin, .answer, .answer, .answer, .begin])
        == ["PING", "", "0 PING", "", "1 PING", "1 PING", "1", "PING"])
  }

  @Test func whoeverAsksTogetherWaitsTogether() {
    #expect(
      outcomes([.begin, .begin, .begin, .begin, .answer, .answer, .answer])
        == ["PING", "", "", "", "0 PING", "1 PING", "3"])
  }
}
