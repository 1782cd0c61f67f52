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

  @Test func whoBeginsAnEpochIsAMember() {
    var membership = outside()
    #expect(!membership.isMember && membership.stamp == nil)
    membership.looked(registry("r:1"), ours: "r:1")
    #expect(membership.isMember)
    #expect(membership.stamp == SnapshotStamp(writer: 2, batch: 1))
    #expect(membership.trustedBatch(of: 2) == nil, "it has vouched for nothing yet")
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
    #expect(membership.trustedBatch(of: 7) == 4 && membership.trustedBatch(of: 9) == nil)
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
    #expect(membership.isMember && membership.trustedBatch(of: 5) == 1)
  }

  @Test func whatIsStoredAfterABatchWasClosedIsInAnother() {
    var membership = member()
    let word = membership.closeBatch()
    #expect(word?.epoch == "r:1" && word?.writer == 2 && word?.batch == 1)
    #expect(membership.stamp == SnapshotStamp(writer: 2, batch: 2))
    membership.vouched(registry("r:1", [2: 1]))
    #expect(membership.trustedBatch(of: 2) == 1)
    let next = membership.closeBatch()
    #expect(next?.batch == 2)
  }

  @Test func whoseWordIsNotTakenIsOutside() {
    for answer in [nil, registry("r:9", [2: 1])] {
      var membership = member()
      membership.vouched(answer)
      let word = membership.closeBatch()
      #expect(!membership.isMember && word == nil && membership.stamp == nil)
      #expect(membership.trustedBatch(of: 2) == nil)
    }
  }

  /// What the first membership stored last it has not vouched for, and the second does not.
  @Test func eachMembershipHasAWriterOfItsOwn() {
    var membership = member()
    _ = membership.closeBatch()
    membership.leave()
    #expect(!membership.isMember)
    // A word that comes late changes nothing.
    membership.vouched(registry("r:1", [2: 1]))
    #expect(!membership.isMember)
    membership.looked(registry("r:2"), ours: "r:2")
    #expect(membership.stamp == SnapshotStamp(writer: 3, batch: 1))
  }
}
