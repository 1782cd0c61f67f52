import Testing

@testable import Deliver

@Suite struct LossRuleTests {
  private struct Loss {
    var isAlone = false
    var wasInTurn = false
    var wereOthersAccepted = false

    func judge(losses: Int) -> (losses: Int, verdict: LossRule.Verdict) {
      LossRule.judge(
        LossTrace(isAlone: isAlone, goesInTurn: wasInTurn), losses: losses,
        wereOthersAccepted: wereOthersAccepted)
    }
  }

  private static let everyLoss = (0..<8).map { bits in
    Loss(isAlone: bits & 1 > 0, wasInTurn: bits & 4 > 0, wereOthersAccepted: bits & 2 > 0)
  }

  /// Every number of losses that a history may bring, with every kind of loss.
  @Test func everyLossCountsAndTheLastOneOfAPushThatIsAloneEndsIt() {
    for losses in 0...255 {
      for loss in Self.everyLoss {
        let (counted, verdict) = loss.judge(losses: losses)
        guard loss.isAlone || loss.wasInTurn else {
          #expect(counted == min(losses + 1, 7) && verdict == .probe)
          continue
        }
        let weight = loss.isAlone && loss.wereOthersAccepted ? 3 : 1
        #expect(counted == min(losses + weight, 8))
        let again: LossRule.Verdict =
          loss.isAlone && loss.wereOthersAccepted ? .probe : .backOff(tries: losses + weight + 2)
        #expect(verdict == (losses + weight >= 8 ? .reject : again), "\(losses) \(loss)")
      }
    }
  }

  private func losses(before end: LossRule.Verdict, _ all: [Loss]) -> Int? {
    var losses = 0
    for (index, loss) in all.enumerated() {
      let (counted, verdict) = loss.judge(losses: losses)
      if verdict == end { return index + 1 }
      losses = counted
    }
    return nil
  }

  @Test func howManySendsAPushIsLostInBeforeItsEnd() {
    let together = Loss(wereOthersAccepted: true)
    let alone = Loss(isAlone: true, wereOthersAccepted: true)
    let only = Loss(isAlone: true)
    // In ordinary traffic, with others, with fewer, and twice alone.
    #expect(losses(before: .reject, [together, together, together, alone, alone]) == 5)
    // No other push is accepted.
    #expect(losses(before: .reject, [together] + Array(repeating: only, count: 9)) == 8)
    // Only one after its first loss.
    #expect(losses(before: .reject, [together, alone, alone, alone]) == 4)
    // Never with others; but in ordinary traffic, where no probe connection can be had.
    #expect(losses(before: .reject, Array(repeating: together, count: 50)) == nil)
    let inTurn = Loss(wasInTurn: true, wereOthersAccepted: true)
    #expect(losses(before: .reject, [together] + Array(repeating: inTurn, count: 9)) == 8)
  }

  /// A server that is out of order for half a minute costs nobody the only push there is.
  @Test func theOnlyPushHasSomeFortySeconds() {
    let policy = RetryPolicy()
    var (losses, waits) = (1, Duration.zero)
    while case (let counted, .backOff(let tries)) = Loss(isAlone: true).judge(losses: losses) {
      losses = counted
      waits += policy.backOff(tries: tries, chance: 0)
    }
    #expect(waits >= .seconds(39), "\(waits)")
  }
}
