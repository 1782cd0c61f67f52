import Ingest
import Kafka
import Testing

/// The ledger behind a reference: expectations cannot change a value.
final class Ledger {
  private var ledger = OffsetLedger()

  var unfinished: Int { ledger.unfinished }
  func assigned(_ partitions: [KafkaPartition]) { ledger.assigned(partitions) }
  func revoked(_ partitions: [KafkaPartition]) { ledger.revoked(partitions) }
  func commitFailed(_ partitions: [KafkaPartition]) { ledger.commitFailed(partitions) }
  func takeCommittable() -> [KafkaPartition: Int64] { ledger.takeCommittable() }

  func began(_ partition: KafkaPartition, _ offset: Int64) -> Int? {
    ledger.began(partition, offset)
  }

  func finished(_ partition: KafkaPartition, _ offset: Int64, _ number: Int) {
    ledger.finished(partition, offset, number)
  }
}

/// Each state of a partition (not ours, nothing begun, some open, all done) against each thing
/// that happens.
@Suite struct OffsetLedgerTests {
  let one = KafkaPartition(topic: "t", partition: 1)
  let two = KafkaPartition(topic: "t", partition: 2)

  func assigned(_ partitions: KafkaPartition...) -> Ledger {
    let ledger = Ledger()
    ledger.assigned(partitions)
    return ledger
  }

  @Test func aPartitionThatIsNotOursBeginsNothing() {
    let ledger = assigned(one)
    let begun = ledger.began(two, 5)
    #expect(begun == nil)
    ledger.finished(two, 5, 1)
    ledger.revoked([two])
    ledger.commitFailed([two])
    #expect(ledger.takeCommittable().isEmpty)
    #expect(ledger.unfinished == 0)
  }

  @Test func nothingIsDueBeforeSomethingIsDone() throws {
    let ledger = assigned(one)
    #expect(ledger.takeCommittable().isEmpty)
    ledger.commitFailed([one])
    #expect(ledger.takeCommittable().isEmpty)
    let number = try #require(ledger.began(one, 5))
    #expect(ledger.takeCommittable().isEmpty)
    // Finishing what never began changes nothing.
    ledger.finished(one, 4, number)
    #expect(ledger.takeCommittable().isEmpty)
    #expect(ledger.unfinished == 1)
  }

  @Test func commitsUpToTheFirstUnfinished() throws {
    let ledger = assigned(one)
    let number = try #require(ledger.began(one, 5))
    for offset: Int64 in [6, 7, 9] { #expect(ledger.began(one, offset) == number) }
    ledger.finished(one, 6, number)
    ledger.finished(one, 9, number)
    #expect(ledger.takeCommittable().isEmpty, "5 is still open")
    ledger.finished(one, 5, number)
    #expect(ledger.takeCommittable() == [one: 7])
    #expect(ledger.takeCommittable().isEmpty, "asked once")
    ledger.finished(one, 5, number)
    #expect(ledger.takeCommittable().isEmpty, "finished twice is finished once")
    ledger.finished(one, 7, number)
    #expect(ledger.takeCommittable() == [one: 10], "8 was never there")
  }

  @Test func aFailedCommitIsDueAgain() throws {
    let ledger = assigned(one, two)
    for partition in [one, two] {
      let number = try #require(ledger.began(partition, 0))
      ledger.finished(partition, 0, number)
    }
    #expect(ledger.takeCommittable() == [one: 1, two: 1])
    ledger.commitFailed([two])
    #expect(ledger.takeCommittable() == [two: 1])
  }

  @Test func whatWasTakenAwayIsForgotten() throws {
    let ledger = assigned(one)
    let earlier = try #require(ledger.began(one, 5))
    ledger.revoked([one])
    ledger.finished(one, 5, earlier)
    #expect(ledger.takeCommittable().isEmpty)
    #expect(ledger.began(one, 6) == nil)

    // Ours again, from the same offset: the earlier work does not count for it.
    ledger.assigned([one])
    let later = try #require(ledger.began(one, 5))
    #expect(later != earlier)
    ledger.finished(one, 5, earlier)
    #expect(ledger.takeCommittable().isEmpty)
    ledger.finished(one, 5, later)
    #expect(ledger.takeCommittable() == [one: 6])
  }

  @Test func partitionsDoNotTouchEachOther() throws {
    let ledger = assigned(one, two)
    let first = try #require(ledger.began(one, 5))
    let second = try #require(ledger.began(two, 5))
    ledger.finished(one, 5, second)
    #expect(ledger.takeCommittable().isEmpty)
    ledger.finished(one, 5, first)
    #expect(ledger.takeCommittable() == [one: 6])
    ledger.revoked([one])
    #expect(ledger.unfinished == 1)
  }

  /// A topic that was deleted and made anew begins at 0: committing the old end would skip its
  /// records.
  @Test func followsOffsetsThatBeginAgain() throws {
    let ledger = assigned(one)
    let number = try #require(ledger.began(one, 1000))
    ledger.finished(one, 1000, number)
    #expect(ledger.takeCommittable() == [one: 1001])
    _ = ledger.began(one, 0)
    #expect(ledger.takeCommittable() == [one: 0])
    ledger.finished(one, 0, number)
    #expect(ledger.takeCommittable() == [one: 1])
  }

  /// Whatever the order: never past an unfinished record, and everything in the end.
  @Test(arguments: 0..<200 as Range<UInt64>)
  func holdsForAnyOrder(seed: UInt64) throws {
    var random = Seeded(state: seed)
    let ledger = assigned(one, two)
    var next: [KafkaPartition: Int64] = [one: 100, two: 0]
    var open: [KafkaPartition: [(offset: Int64, number: Int)]] = [one: [], two: []]
    var committed: [KafkaPartition: Int64] = [:]
    for _ in 0..<400 {
      let partition = Bool.random(using: &random) ? one : two
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        let offset = next[partition, default: 0] + (Bool.random(using: &random) ? 0 : 3)
        let number = try #require(ledger.began(partition, offset))
        open[partition]?.append((offset, number))
        next[partition] = offset + 1
      case 4..<8:
        guard let index = open[partition]?.indices.randomElement(using: &random),
          let done = open[partition]?.remove(at: index)
        else { continue }
        ledger.finished(partition, done.offset, done.number)
      case 8:
        let due = ledger.takeCommittable()
        for (partition, offset) in due {
          let lowest = open[partition]?.map(\.offset).min() ?? next[partition] ?? 0
          #expect(offset == lowest)
          #expect(offset > committed[partition] ?? -1)
          committed[partition] = offset
        }
      default:
        ledger.commitFailed([partition])
        committed[partition] = nil
      }
    }
    for (partition, records) in open {
      for record in records { ledger.finished(partition, record.offset, record.number) }
    }
    #expect(ledger.unfinished == 0)
    committed.merge(ledger.takeCommittable()) { $1 }
    for partition in [one, two] where next[partition] != (partition == one ? 100 : 0) {
      #expect(committed[partition] == next[partition])
    }
  }
}
