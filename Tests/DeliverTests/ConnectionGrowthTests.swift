import Testing

@testable import Deliver

/// How many connections a route has, by what is seen of it: two to four, in seconds up and in
/// minutes down.
@Suite struct ConnectionGrowthTests {
  private static let second: UInt64 = 1_000_000_000

  private static func growth(most: Int?) -> ConnectionGrowth {
    var options = DeliverOptions { 0 }
    options.mostConnectionsPerRoute = most
    return ConnectionGrowth(options)
  }

  /// A route that is looked at twice a second.
  private struct Trial {
    var growth = ConnectionGrowthTests.growth(most: 4)
    var now: UInt64 = 1

    /// - Returns: how many are wanted then.
    @discardableResult
    mutating func look(_ need: ConnectionGrowth.Need, seconds: Int) -> Int {
      for _ in 0..<2 * seconds {
        now += second / 2
        growth.observe(need, at: now)
      }
      return growth.wanted
    }

    static func grown(to wanted: Int) -> Trial {
      var trial = Trial()
      while trial.growth.wanted < wanted { trial.look(.more, seconds: 1) }
      // What comes next comes new.
      trial.look(.asMany, seconds: 1)
      return trial
    }
  }

  struct Step {
    var from: Int
    var need: ConnectionGrowth.Need
    var seconds: Int
    var to: Int
  }

  @Test(arguments: [
    Step(from: 2, need: .more, seconds: 2, to: 2),
    Step(from: 2, need: .more, seconds: 3, to: 3),
    Step(from: 3, need: .more, seconds: 3, to: 4),
    // One at a time: the next has to be full as long.
    Step(from: 2, need: .more, seconds: 4, to: 3),
    Step(from: 2, need: .more, seconds: 5, to: 4),
    Step(from: 4, need: .more, seconds: 3_600, to: 4),
    Step(from: 2, need: .asMany, seconds: 3_600, to: 2),
    Step(from: 3, need: .asMany, seconds: 3_600, to: 3),
    Step(from: 4, need: .asMany, seconds: 3_600, to: 4),
    Step(from: 2, need: .fewer, seconds: 3_600, to: 2),
    Step(from: 4, need: .fewer, seconds: 300, to: 4),
    Step(from: 4, need: .fewer, seconds: 301, to: 3),
    Step(from: 4, need: .fewer, seconds: 600, to: 3),
    Step(from: 4, need: .fewer, seconds: 601, to: 2),
    Step(from: 3, need: .fewer, seconds: 301, to: 2),
  ])
  func eachNeedInEachSize(step: Step) {
    var trial = Trial.grown(to: step.from)
    #expect(trial.look(step.need, seconds: step.seconds) == step.to)
  }

  /// Whatever else is seen in between begins the time again.
  @Test(arguments: ConnectionGrowth.Need.allCases) func whatDoesNotLastChangesNothing(
    other: ConnectionGrowth.Need
  ) {
    var trial = Trial.grown(to: 3)
    for _ in 0..<100 where other != .more {
      trial.look(.more, seconds: 2)
      #expect(trial.look(other, seconds: 1) == 3)
    }
    for _ in 0..<100 where other != .fewer {
      trial.look(.fewer, seconds: 300)
      #expect(trial.look(other, seconds: 1) == 3)
    }
  }

  /// A server that admits no more is asked again a minute later.
  @Test func whatCameToNothingIsNotTriedAgainSoon() {
    var trial = Trial.grown(to: 3)
    #expect(trial.growth.cameToNothing(at: trial.now) && trial.growth.wanted == 2)
    #expect(trial.look(.more, seconds: 59) == 2)
    #expect(trial.look(.more, seconds: 2) == 3)
  }

  /// What a route has anyway is tried again as ever.
  @Test func noneOfTheFirstIsGivenUp() {
    var trial = Trial()
    #expect(!trial.growth.cameToNothing(at: trial.now) && trial.growth.wanted == 2)
    #expect(trial.look(.more, seconds: 3) == 3)
  }

  @Test(arguments: [0, 1, 2, nil]) func withoutRoomToGrowNothingChanges(most: Int?) {
    var trial = Trial()
    trial.growth = Self.growth(most: most)
    for need in ConnectionGrowth.Need.allCases {
      #expect(trial.look(need, seconds: 60) == 2 && trial.growth.most == 2)
    }
  }
}
