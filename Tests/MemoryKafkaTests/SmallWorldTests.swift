import Testing

/// Groups under all faults together, in virtual time.
@Suite @KafkaContract struct SmallWorldTests {
  @Test(arguments: 1...20)
  func everythingIsReadAndCommittedOnceTheFaultsStop(seed: UInt64) {
    let world = SmallWorld(seed: seed)
    world.live(seconds: 120, hasFaults: true)
    world.live(seconds: 60, hasFaults: false)
    #expect(world.unsettled == [], "\(world.trace.suffix(60).joined(separator: "\n"))")
    #expect(world.seen.count > 100)
  }

  @Test func theSameSeedGivesTheSameTrace() {
    let traces = (0..<2).map { _ in
      let world = SmallWorld(seed: 4711)
      world.live(seconds: 60, hasFaults: true)
      return world.trace
    }
    #expect(traces[0] == traces[1] && traces[0].count > 100)
  }
}
