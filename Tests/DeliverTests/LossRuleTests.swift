import Testing

@testable import Deliver

@Suite struct LossRuleTests {
  private typealias Loss = LossRule.Loss

  private static let everyLoss = (0..<32).map { bits in
    Loss(
      isAlone: bits & 1 > 0, isProof: bits & 2 > 0, isOnlyCause: bits & 4 > 0,
      wereOthersTaken: bits & 8 > 0, isLikely: bits & 16 > 0)
  }

  /// Every number of losses that a history may bring, with every kind of loss.
  @Test func everyLossCountsAndTheLastOneOfAPushThatIsAloneEndsIt() {
    for losses in 0...255 {
      for loss in Self.everyLoss {
        let (counted, verdict) = LossRule.judge(loss, losses: losses)
        #expect(counted <= LossRule.most && counted > 0)
        guard loss.isAlone else {
          #expect(counted == min(losses + 1, LossRule.most - 1) && verdict == .divide)
          continue
        }
        let isEnough = losses + (loss.isProof ? 3 : 1) >= LossRule.most
        let isOnly = loss.isOnlyCause && loss.wereOthersTaken && losses >= 2
        #expect((verdict == .reject) == (isEnough || isOnly), "\(losses) \(loss)")
        #expect(counted == min(losses + (loss.isProof ? 3 : 1), 8))
        guard verdict != .reject else { continue }
        let tries = loss.isLikely ? counted - 1 : counted + 2
        #expect(verdict == (loss.wereOthersTaken ? .soon : .wait(tries: tries)))
      }
    }
  }

  private func losses(before end: LossRule.Verdict, _ all: [Loss]) -> Int? {
    var losses = 0
    for (index, loss) in all.enumerated() {
      let (counted, verdict) = LossRule.judge(loss, losses: losses)
      if verdict == end { return index + 1 }
      losses = counted
    }
    return nil
  }

  @Test func howManySendsAPushIsLostInBeforeItsEnd() {
    let together = Loss(wereOthersTaken: true)
    let alone = Loss(isAlone: true, wereOthersTaken: true)
    let proof = Loss(isAlone: true, isProof: true, wereOthersTaken: true)
    let only = Loss(isAlone: true, isOnlyCause: true, wereOthersTaken: true)
    let silence = Loss(isAlone: true, isOnlyCause: true)
    // The only one that anything is lost with.
    #expect(losses(before: .reject, [together, together, only]) == 3)
    #expect(losses(before: .reject, [together, only, only]) == 3)
    // One of several.
    #expect(losses(before: .reject, [together, together, proof, proof]) == 4)
    #expect(losses(before: .reject, [together, together, alone, proof, proof]) == 5)
    #expect(losses(before: .reject, [together, alone, proof, alone, proof]) == 5)
    // Nobody else is taken, or connections are lost all the time.
    #expect(losses(before: .reject, [together] + Array(repeating: silence, count: 9)) == 8)
    #expect(losses(before: .reject, [together] + Array(repeating: alone, count: 9)) == 8)
    // In company nobody is judged.
    #expect(losses(before: .reject, Array(repeating: together, count: 99)) == nil)
  }

  /// With the waits that a worker has unless told otherwise.
  @Test func aServerMayBeOutOfOrderForFortySecondsBeforeTheOnlyPushIsGivenUp() {
    let policy = RetryPolicy()
    var losses = 1
    var waited = Duration.zero
    while case (let counted, .wait(let tries)) = LossRule.judge(
      Loss(isAlone: true, isOnlyCause: true), losses: losses)
    {
      losses = counted
      waited += policy.backOff(tries: tries, chance: 0)
    }
    #expect(waited > .seconds(38) && losses == LossRule.most - 1)
  }

  @Test func aTraceKnowsWhenALossIsAProof() {
    var trace = LossTrace()
    trace.came(at: 100)
    trace.came(at: 200)
    #expect(trace.lastAt == 100 && trace.firstAt == 0 && trace.count == 0)
    for (isAlone, isFresh, takenBefore) in [
      (false, true, UInt64(101)), (true, false, 101), (true, true, 100), (true, true, 0),
    ] {
      trace.sent(isAlone: isAlone, isFresh: isFresh, takenBefore: takenBefore)
      #expect(!trace.isProof && trace.isAlone == isAlone)
    }
    trace.sent(isAlone: true, isFresh: true, takenBefore: 101)
    #expect(trace.isProof && trace.isAlone)
    trace.lost(at: 300)
    #expect(!trace.isProof && !trace.isAlone)
    trace.lost(at: 400)
    #expect(trace.firstAt == 300 && trace.lastAt == 400 && trace.count == 2)
    #expect(!trace.isLikely)
    trace.lost(at: 500, speaksAgainst: true)
    trace.lost(at: 600)
    #expect(trace.isLikely && !trace.isGivenUp)
    trace.giveUp()
    #expect(trace.isGivenUp)
    trace.lost(at: 700)
    #expect(!trace.isGivenUp)
  }

  private static let minute: UInt64 = 60_000_000_000

  @Test func aPushIsTheOnlyCauseWhenNothingIsLostWithoutIt() {
    var log = LossLog()
    var push = LossTrace()
    let start = 10 * Self.minute
    for time in [start, start + 1, start + 2] {
      log.add(at: time)
      push.lost(at: time)
      #expect(log.isOnlyCause(push, at: time))
    }
    // Its own losses stay its own, however long ago they were.
    #expect(log.isOnlyCause(push, at: start + 5 * Self.minute))
    log.add(at: start + 5 * Self.minute)
    #expect(!log.isOnlyCause(push, at: start + 5 * Self.minute))
  }

  @Test func whatWasLostAMinuteBeforeItSaysNothing() {
    var log = LossLog()
    let start = 10 * Self.minute
    log.add(at: start)
    var push = LossTrace()
    let later = start + Self.minute - 1
    log.add(at: later)
    push.lost(at: later)
    #expect(!log.isOnlyCause(push, at: later))
    var another = LossTrace()
    another.lost(at: later + Self.minute + 1)
    log.add(at: later + Self.minute + 1)
    #expect(log.isOnlyCause(another, at: later + Self.minute + 1))
  }

  @Test func soManyLossesAreNobodysAlone() {
    var log = LossLog()
    for time in 0..<1000 { log.add(at: UInt64(time)) }
    var push = LossTrace()
    for _ in 0..<LossRule.most { push.lost(at: 999) }
    #expect(!log.isOnlyCause(push, at: 1000))
  }

  @Test func lossesOfLonePushesAreCommonWhereAThirdIsLost() {
    var log = LossLog()
    #expect(!log.isCommon)
    for _ in 0..<2 { log.lone(isLost: true) }
    #expect(!log.isCommon)
    for _ in 0..<3 { log.lone(isLost: true) }
    #expect(log.isCommon)
    for _ in 0..<100 { log.lone(isLost: false) }
    #expect(!log.isCommon)
    // What was once good does not weigh for ever.
    for _ in 0..<100 { for isLost in [true, false, false] { log.lone(isLost: isLost) } }
    #expect(log.isCommon)
    for _ in 0..<100 { for count in 0..<10 { log.lone(isLost: count == 0) } }
    #expect(!log.isCommon)
  }
}
