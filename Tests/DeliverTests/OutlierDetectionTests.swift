import Model
import Testing
import Text

@testable import Deliver

@Suite struct OutlierDetectionTests {
  private let bad = FanOut()
  private let good = FanOut()

  /// - Returns: whether the bad one was found to fail by itself, and at which of its failures.
  private func alternate(
    _ attribution: inout OutlierDetection, _ times: Int, bad run: Int = 1, good taken: Int = 3
  ) -> Int? {
    for time in 0..<times {
      for _ in 0..<taken { attribution.taken(good) }
      for _ in 0..<run { _ = attribution.failed(bad, at: 1) }
      if attribution.isOutlier(bad) { return time + 1 }
    }
    return nil
  }

  private func fails(_ fanOut: FanOut, _ attribution: inout OutlierDetection, _ times: Int = 1) {
    for _ in 0..<times {
      _ = attribution.failed(fanOut, at: 1)
      #expect(!attribution.isOutlier(fanOut))
    }
  }

  private func expectAlternation(_ attribution: inout OutlierDetection) {
    let found = alternate(&attribution, 10)
    #expect(found.map { (3...6).contains($0) } == true)
  }

  @Test func oneThatFailsWhileOthersAreTakenFailsByItself() {
    var attribution = OutlierDetection()
    fails(bad, &attribution, 500)
    #expect(!attribution.isOutlier(bad))
    expectAlternation(&attribution)
    #expect(attribution.isOutlier(bad) && !attribution.isOutlier(good))
  }

  /// Nearly all answers are to it, and one in twenty of its pushes is taken.
  @Test func aGiantIsComparedWithOthersAlone() {
    var attribution = OutlierDetection()
    for time in 0..<400 {
      for push in 0..<9 {
        if (time * 9 + push) % 20 == 0 {
          attribution.taken(bad)
        } else {
          _ = attribution.failed(bad, at: 1)
        }
      }
      attribution.taken(good)
      if attribution.isOutlier(bad) { return }
    }
    Issue.record("it is no outlier")
  }

  @Test func onceIsNotEnough() {
    var attribution = OutlierDetection()
    let found = alternate(&attribution, 2, bad: 50, good: 50)
    #expect(found == nil)
    fails(bad, &attribution, 50)
    #expect(!attribution.isOutlier(bad))
  }

  @Test func severalMay() {
    var attribution = OutlierDetection()
    let all = (0..<5).map { _ in FanOut() }
    for _ in 0..<20 {
      attribution.taken(good)
      for fanOut in all { _ = attribution.failed(fanOut, at: 1) }
    }
    #expect(all.allSatisfy { attribution.isOutlier($0) })
  }

  /// It refuses a part of all: none fails by itself.
  @Test(arguments: [0.1, 0.3, 0.5, 0.8])
  func whoIsRefusedAtRandomSpeaksForTheServer(share: Double) {
    for seed in 0..<20 {
      var random = SplitMix64(seed: UInt64(seed))
      var attribution = OutlierDetection()
      let all = (0..<4).map { _ in FanOut() }
      var found = 0
      for push in 0..<20_000 {
        let fanOut = all[push / 8 % 4]
        if Double.random(in: 0..<1, using: &random) >= share {
          attribution.taken(fanOut)
        } else {
          _ = attribution.failed(fanOut, at: 1)
          if attribution.isOutlier(fanOut) { found += 1 }
        }
      }
      #expect(found == 0, "seed \(seed)")
    }
  }

  @Test func oneThatIsTakenAgainSpeaksForTheServer() {
    var attribution = OutlierDetection()
    expectAlternation(&attribution)
    for _ in 0..<10 { attribution.taken(bad) }
    #expect(!attribution.isOutlier(bad))
    fails(bad, &attribution)
  }

  /// The rate was lowered for what others could not send either.
  @Test(arguments: [false, true])
  func outliersAreToBlameWhereOthersDoNotFail(doOthersFail: Bool) {
    var attribution = OutlierDetection()
    var isBlamed = false
    for _ in 0..<30 {
      for _ in 0..<3 { attribution.taken(good) }
      if doOthersFail { isBlamed = attribution.failed(good, at: 1) || isBlamed }
      isBlamed = attribution.failed(bad, at: 1) || isBlamed
    }
    #expect(attribution.isOutlier(bad) && isBlamed == !doOthersFail)
  }

  /// After its first answer, until one of its pushes is taken.
  @Test func oneOfWhichNothingWasTakenIsAnOutlierAtTheFloor() {
    var attribution = OutlierDetection()
    attribution.taken(good)
    #expect(attribution.outliers(isAtFloor: true).isEmpty)
    fails(bad, &attribution)
    fails(good, &attribution)
    attribution.taken(good)
    let outliers = attribution.outliers(isAtFloor: true)
    #expect(outliers.count == 1 && outliers.first === bad)
    #expect(attribution.outliers(isAtFloor: false).isEmpty)
    bad.taken()
    #expect(attribution.outliers(isAtFloor: true).isEmpty, "its pushes were taken lately")
    for _ in 0..<16 { bad.failed() }
    #expect(!attribution.outliers(isAtFloor: true).isEmpty)
    attribution.taken(bad)
    #expect(attribution.outliers(isAtFloor: true).isEmpty)
  }

  @Test func whatIsOldIsForgotten() {
    var attribution = OutlierDetection()
    expectAlternation(&attribution)
    attribution.forget(at: 59_000_000_000)
    #expect(attribution.isOutlier(bad) && !attribution.isEmpty)
    attribution.forget(at: 61_000_000_000)
    #expect(!attribution.isOutlier(bad) && attribution.isEmpty)
  }

  @Test func onlySoManyAreRemembered() {
    var attribution = OutlierDetection()
    expectAlternation(&attribution)
    for number in 0..<1_000 { _ = attribution.failed(FanOut(), at: UInt64(number + 2)) }
    #expect(!attribution.isOutlier(bad))
    expectAlternation(&attribution)
  }
}
