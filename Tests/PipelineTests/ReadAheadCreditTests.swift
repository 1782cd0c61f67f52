import Testing

@testable import Pipeline

@Suite struct ReadAheadCreditTests {
  private func taken(_ credit: inout ReadAheadCredit, of count: Int) -> Int {
    (0..<count).count { _ in credit.take() }
  }

  @Test func readsInVainEnd() {
    var credit = ReadAheadCredit(maximum: 3)
    let first = taken(&credit, of: 10)
    #expect(first == 3)
    credit.earn()
    let second = taken(&credit, of: 10)
    #expect(second == 1, "one in vain for one that was ours")
  }

  @Test func whatIsOursCostsNothingAndSavesNothing() {
    var credit = ReadAheadCredit(maximum: 3)
    for _ in 0..<100 {
      let isTaken = credit.take()
      #expect(isTaken)
      credit.earn()
    }
    // Such as segments that were not read ahead.
    for _ in 0..<100 { credit.earn() }
    let left = taken(&credit, of: 10)
    #expect(left == 3)
  }
}
