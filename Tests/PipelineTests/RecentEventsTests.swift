import Testing

@testable import Pipeline

/// Which events a worker names in its log.
@Suite struct RecentEventsTests {
  @Test func namesEachOnceAndForgetsTheOldest() {
    var events = RecentEvents()
    func fresh(_ names: [String]) -> [String] { names.filter { events.isNew($0) } }
    #expect(fresh(["e1", "e1", "e2", "e1"]) == ["e1", "e2"])
    let others = (0..<RecentEvents.capacity - 1).map { "other-\($0)" }
    #expect(fresh(others) == others)
    // The first was the oldest.
    #expect(fresh(["e2", "other-0", "e1"]) == ["e1"])
  }
}
