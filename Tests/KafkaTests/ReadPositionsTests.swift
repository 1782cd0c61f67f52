import Testing

@testable import Kafka

/// What is between two offsets: nothing, what never was a record, what Kafka has thrown away.
@Suite struct ReadPositionsTests {
  private let one = KafkaPartition(topic: "t", partition: 1)

  private func positions(_ committed: Int64?) -> ReadPositions {
    var positions = ReadPositions()
    positions.assigned(one, committed: committed)
    return positions
  }

  @Test func whatThePartitionDoesNotHaveAnyMoreIsSkipped() {
    var positions = positions(5)
    #expect(positions.reached(one, 20, following: 21) { 20 } == 5..<20)
    #expect(positions.reached(one, 21, following: 22) { 20 } == nil)
    #expect(positions.reached(one, 30, following: 31) { 25 } == 22..<25)
  }

  /// The partition may begin later by now than where reading goes on.
  @Test func whatIsReadIsNotSkipped() {
    var positions = positions(5)
    #expect(positions.reached(one, 9, following: 9) { 100 } == 5..<9)
  }

  @Test(arguments: [0, 5, nil] as [Int64?])
  func gapsWithinAPartitionAreNone(_ first: Int64?) {
    var positions = positions(5)
    #expect(positions.reached(one, 7, following: 8) { first } == nil)
    #expect(positions.reached(one, 8, following: 9) { 100 } == nil, "there is no gap")
  }

  @Test func whoHadCommittedNothingMissesNothing() {
    var positions = positions(nil)
    #expect(!positions.is(one, at: 0))
    #expect(positions.reached(one, 20, following: 21) { 20 } == nil)
    #expect(positions.reached(one, 23, following: 24) { 23 } == 21..<23)
  }

  @Test func whatIsAnothersIsForgotten() {
    var positions = positions(5)
    positions.revoked([one])
    #expect(positions == ReadPositions())
    #expect(positions.reached(one, 20, following: 21) { 20 } == nil)
  }

  @Test func reverseStepsAreTaken() {
    var positions = positions(5)
    #expect(positions.reached(one, 0, following: 1) { 0 } == nil)
    #expect(positions.is(one, at: 1))
    #expect(positions.reached(one, 4, following: 5) { 3 } == 1..<3)
  }
}
