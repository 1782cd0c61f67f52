import Testing

@testable import Pipeline

@Suite struct LaneLoadsTests {
  @Test func givesWorkToTheLeastBusyLaneUpToItsSlots() {
    var loads = LaneLoads(
      lanes: 2, eventSlots: 1, segmentSlots: 2, bulkSlots: 2, stragglerSlots: 2)
    let lanes = (0..<4).map { _ in loads.take(.segment) }
    #expect(lanes == [0, 1, 0, 1])
    #expect(!loads.hasRoom(.segment))
    let none = loads.take(.segment)
    #expect(none == nil)
    #expect(loads.inFlight == 4)
  }

  @Test func keepsSlotsForEventsWhenSegmentsFillTheLanes() {
    var loads = LaneLoads(
      lanes: 1, eventSlots: 1, segmentSlots: 1, bulkSlots: 1, stragglerSlots: 1)
    _ = loads.take(.bulk)
    #expect(loads.hasRoom(.segment))
    _ = loads.take(.segment)
    #expect(!loads.hasRoom(.segment) && !loads.hasRoom(.bulk) && loads.hasRoom(.straggler))
    #expect(loads.hasRoom(.event))
    let lane = loads.take(.event)
    #expect(lane == 0)
    #expect(!loads.hasRoom(.event))
  }

  @Test(arguments: WorkKind.allCases)
  func takesBackWhatItGave(kind: WorkKind) {
    var loads = LaneLoads(
      lanes: 3, eventSlots: 2, segmentSlots: 2, bulkSlots: 2, stragglerSlots: 2)
    var taken: [Int] = []
    while let lane = loads.take(kind) { taken.append(lane) }
    #expect(taken.count == 6)
    #expect(loads.inFlight(kind) == 6)
    for lane in taken { loads.giveBack(kind, lane: lane) }
    #expect(loads.inFlight == 0)
  }
}
