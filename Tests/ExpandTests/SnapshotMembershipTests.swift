import Testing

@testable import Expand

/// When a lane may believe what is stored: every state with every answer.
@Suite struct SnapshotMembershipTests {
  /// A membership whose writers are 1, 2, 3…
  private func outside() -> SnapshotMembership {
    var number: UInt64 = 0
    return SnapshotMembership {
      number += 1
      return number
    }
  }

  private func registry(_ epoch: String, _ batches: [UInt64: UInt32] = [:]) -> SnapshotRegistry {
    SnapshotRegistry(epoch: epoch, batches: batches)
  }

  private func member(_ batches: [UInt64: UInt32] = [:]) -> SnapshotMembership {
    var membership = outside()
    membership.looked(registry("r:1", batches), ours: "r:1")
    return membership
  }

  private func trusts(
    _ membership: SnapshotMembership, _ writer: UInt64, _ batch: UInt32
  ) -> Bool {
    var trust = membership.trust
    return trust?.includes(SnapshotStamp(writer: writer, batch: batch)) == true
  }

  @Test func whoBeginsAnEpochIsAMember() {
    var membership = outside()
    #expect(!membership.isMember && membership.stamp == nil)
    membership.looked(registry("r:1"), ours: "r:1")
    #expect(membership.isMember)
    #expect(membership.stamp == SnapshotStamp(writer: 2, batch: 1))
    #expect(!trusts(membership, 2, 1), "it has vouched for nothing yet")
  }

  /// The first vouch that is seen may have begun before we listened, the second not.
  @Test func whoComesLaterWaitsForTwoVouchesOfOneMember() {
    var membership = outside()
    membership.looked(registry("r:1", [7: 3, 8: 3]), ours: "r:2")
    membership.looked(registry("r:1", [7: 3, 8: 3]), ours: "r:3")
    membership.looked(registry("r:1", [7: 4, 8: 4]), ours: "r:4")
    #expect(!membership.isMember)
    membership.looked(registry("r:1", [7: 4, 8: 5]), ours: "r:5")
    #expect(membership.isMember)
    #expect(trusts(membership, 7, 4) && !trusts(membership, 7, 5) && !trusts(membership, 9, 1))
  }

  @Test func aMemberThatJoinedMeanwhileCountsFromNothing() {
    var membership = outside()
    membership.looked(registry("r:1"), ours: "r:2")
    membership.looked(registry("r:1", [7: 1]), ours: "r:3")
    #expect(!membership.isMember)
    membership.looked(registry("r:1", [7: 2]), ours: "r:4")
    #expect(membership.isMember)
  }

  @Test func anotherEpochIsWatchedFromTheBeginning() {
    var membership = outside()
    membership.looked(registry("r:1", [7: 3]), ours: "r:2")
    membership.looked(registry("r:9", [7: 9]), ours: "r:3")
    #expect(!membership.isMember)
    membership.looked(registry("r:9", [7: 10]), ours: "r:4")
    #expect(!membership.isMember)
    membership.looked(registry("r:9", [7: 11]), ours: "r:5")
    #expect(membership.isMember)
  }

  @Test func whoSeesNothingForgetsWhatItSaw() {
    var membership = outside()
    membership.looked(registry("r:1", [7: 3]), ours: "r:2")
    membership.looked(nil, ours: "r:3")
    membership.looked(registry("r:1", [7: 9]), ours: "r:4")
    #expect(!membership.isMember)
  }

  @Test func aMemberIsNotMovedByALook() {
    var membership = member([5: 1])
    membership.looked(nil, ours: "r:2")
    membership.looked(registry("r:9"), ours: "r:9")
    #expect(membership.isMember && trusts(membership, 5, 1))
  }

  @Test func whatIsStoredAfterABatchWasClosedIsInAnother() {
    var membership = member()
    let word = membership.closeBatch()
    #expect(word == SnapshotMembership.Word(epoch: "r:1", writer: 2, batch: 1))
    #expect(membership.stamp == SnapshotStamp(writer: 2, batch: 2))
    if let word { membership.gave(word, registry("r:1", [2: 1])) }
    #expect(trusts(membership, 2, 1) && !trusts(membership, 2, 2))
    let next = membership.closeBatch()
    #expect(next?.batch == 2)
  }

  @Test func whoseWordIsNotTakenIsOutside() throws {
    for answer in [nil, registry("r:9", [2: 1])] {
      var membership = member()
      let closed = membership.closeBatch()
      membership.gave(try #require(closed), answer)
      let word = membership.closeBatch()
      #expect(!membership.isMember && word == nil && membership.stamp == nil)
      #expect(!trusts(membership, 2, 1))
    }
  }

  /// What the first membership stored last it has not vouched for, and the second does not.
  @Test func eachMembershipHasAWriterAndAWordOfItsOwn() throws {
    var membership = member()
    let closed = membership.closeBatch()
    let word = try #require(closed)
    #expect(membership.canGive(word))
    membership.leave()
    #expect(!membership.isMember && !membership.canGive(word))
    // A word that comes late changes nothing.
    membership.gave(word, registry("r:1", [2: 1]))
    #expect(!membership.isMember)
    membership.looked(registry("r:1"), ours: "r:1")
    #expect(membership.stamp == SnapshotStamp(writer: 3, batch: 1))
    #expect(!membership.canGive(word))
    membership.gave(word, nil)
    #expect(membership.isMember, "nor does it end what came later")
  }
}
