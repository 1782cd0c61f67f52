import Kafka
import Testing
import Text

@testable import Ingest

@Suite struct OffsetLedgerTests {
  private let one = KafkaPartition(topic: "t", partition: 1)
  private let two = KafkaPartition(topic: "t", partition: 2)

  private func assigned() -> OffsetLedger {
    var ledger = OffsetLedger()
    ledger.assigned([one, two])
    return ledger
  }

  private func begin(
    _ ledger: inout OffsetLedger, _ partition: KafkaPartition, _ offset: Int64
  ) throws -> Int {
    let number = ledger.began(partition, offset)
    return try #require(number)
  }

  // MARK: partition unknown, assigned and idle, working, done, taken, revoked: each × each event

  @Test func nothingIsKnownOfAnUnknownPartition() {
    var ledger = OffsetLedger()
    #expect(ledger.began(one, 5) == nil)
    ledger.finished(one, 5, 1)
    ledger.revoked([one])
    #expect(ledger.takeCommittable().isEmpty)
    #expect(ledger.unfinished == 0)
    #expect(ledger == OffsetLedger())
  }

  /// Control records of transactions have offsets, and nobody ever gets one.
  @Test func theEndOfAPartitionIsCommittedWhenAllBeforeItIsDone() throws {
    var ledger = assigned()
    let number = try begin(&ledger, one, 5)
    ledger.reachedEnd(one, 8)
    #expect(ledger.takeCommittable().isEmpty)
    ledger.finished(one, 5, number)
    #expect(ledger.takeCommittable() == [one: 8])
    ledger.reachedEnd(one, 7)
    #expect(ledger.takeCommittable().isEmpty, "the end that was known before")
    let next = try begin(&ledger, one, 8)
    ledger.finished(one, 8, next)
    #expect(ledger.takeCommittable() == [one: 9])
    ledger.reachedEnd(two, 3)
    #expect(ledger.takeCommittable() == [two: 3], "nothing else was there")
    ledger.revoked([two])
    ledger.reachedEnd(two, 4)
    #expect(ledger.takeCommittable(all: true) == [one: 9])
  }

  @Test func anIdlePartitionCommitsNothing() throws {
    var ledger = assigned()
    let idle = ledger
    #expect(ledger.takeCommittable().isEmpty)
    ledger.finished(one, 5, 1)
    #expect(ledger == idle)
    ledger.revoked([one])
    #expect(ledger.began(one, 5) == nil)
  }

  @Test func workInProgressCommitsNothing() throws {
    var ledger = assigned()
    let number = try begin(&ledger, one, 5)
    #expect(ledger.unfinished == 1)
    #expect(ledger.takeCommittable().isEmpty)
    ledger.finished(one, 6, number)
    ledger.finished(two, 5, number)
    #expect(ledger.takeCommittable().isEmpty)
    #expect(ledger.unfinished == 1)
  }

  @Test func whatWasTakenIsOfferedAgainAtTheLastChance() throws {
    var ledger = assigned()
    #expect(ledger.takeCommittable(all: true).isEmpty)
    let number = try begin(&ledger, one, 5)
    ledger.finished(one, 5, number)
    #expect(ledger.takeCommittable() == [one: 6])
    #expect(ledger.takeCommittable().isEmpty)
    #expect(ledger.takeCommittable(all: true) == [one: 6])
    #expect(ledger.takeCommittable().isEmpty)
    // What is under way stays uncommitted, last chance or not.
    _ = try begin(&ledger, one, 6)
    #expect(ledger.takeCommittable(all: true) == [one: 6])
  }

  @Test func aDoneRecordIsCommittedOnce() throws {
    var ledger = assigned()
    let number = try begin(&ledger, one, 5)
    ledger.finished(one, 5, number)
    ledger.finished(one, 5, number)
    #expect(ledger.takeCommittable() == [one: 6])
    #expect(ledger.takeCommittable().isEmpty)
    #expect(ledger.unfinished == 0)
  }

  @Test func theFirstOffsetOfAllMayBeCommitted() throws {
    var ledger = assigned()
    let number = try begin(&ledger, one, 0)
    #expect(ledger.takeCommittable().isEmpty)
    ledger.finished(one, 0, number)
    #expect(ledger.takeCommittable() == [one: 1])
  }

  @Test func onlyWhatIsBelowTheFirstUnfinishedIsCommitted() throws {
    var ledger = assigned()
    // Compacted topics and transactions leave gaps.
    let numbers = try [5, 6, 9].map { try begin(&ledger, one, $0) }
    ledger.finished(one, 9, numbers[2])
    #expect(ledger.takeCommittable().isEmpty)
    ledger.finished(one, 5, numbers[0])
    #expect(ledger.takeCommittable() == [one: 6])
    ledger.finished(one, 6, numbers[1])
    #expect(ledger.takeCommittable() == [one: 10])
  }

  @Test func partitionsStandForThemselves() throws {
    var ledger = assigned()
    let first = try begin(&ledger, one, 5)
    let second = try begin(&ledger, two, 5)
    ledger.finished(two, 5, second)
    #expect(ledger.takeCommittable() == [two: 6])
    ledger.finished(one, 5, first)
    #expect(ledger.takeCommittable() == [one: 6])
  }

  @Test func aRevokedPartitionIsForgotten() throws {
    var ledger = assigned()
    let number = try begin(&ledger, one, 5)
    ledger.revoked([one])
    #expect(ledger.unfinished == 0)
    ledger.finished(one, 5, number)
    #expect(ledger.takeCommittable().isEmpty)
    #expect(ledger.began(one, 6) == nil)
    #expect(ledger.began(two, 6) != nil)
  }

  @Test func anEarlierAssignmentsFinishIsIgnored() throws {
    var ledger = assigned()
    let old = try begin(&ledger, one, 5)
    ledger.revoked([one])
    ledger.assigned([one])
    let new = try begin(&ledger, one, 5)
    #expect(new != old)
    ledger.finished(one, 5, old)
    #expect(ledger.takeCommittable().isEmpty)
    #expect(ledger.unfinished == 1)
    ledger.finished(one, 5, new)
    #expect(ledger.takeCommittable() == [one: 6])
  }

  @Test func assignedAgainWithoutRevocationStartsAgain() throws {
    var ledger = assigned()
    let old = try begin(&ledger, one, 9)
    ledger.assigned([one])
    ledger.finished(one, 9, old)
    #expect(ledger.takeCommittable().isEmpty)
    let new = try begin(&ledger, one, 3)
    ledger.finished(one, 3, new)
    #expect(ledger.takeCommittable() == [one: 4])
  }

  /// A topic that was deleted and made again begins at 0: the old end would skip its records.
  @Test func offsetsThatBeginAgainAreFollowed() throws {
    var ledger = assigned()
    let old = try begin(&ledger, one, 1000)
    let unfinished = try begin(&ledger, one, 1001)
    ledger.finished(one, 1000, old)
    #expect(ledger.takeCommittable() == [one: 1001])
    let new = try begin(&ledger, one, 0)
    #expect(ledger.takeCommittable() == [one: 0])
    #expect(ledger.unfinished == 1)
    ledger.finished(one, 1001, unfinished)
    ledger.finished(one, 0, new)
    #expect(ledger.takeCommittable() == [one: 1])
  }

  @Test func aLogThatWasCutIsReadAgain() throws {
    var ledger = assigned()
    let below = try begin(&ledger, one, 5)
    let old = try begin(&ledger, one, 7)
    let new = try begin(&ledger, one, 7)
    ledger.finished(one, 7, old)
    ledger.finished(one, 5, below)
    #expect(ledger.takeCommittable() == [one: 7])
    ledger.finished(one, 7, new)
    #expect(ledger.takeCommittable() == [one: 8])
  }

  @Test func aFailedCommitIsDueAgain() throws {
    var ledger = assigned()
    ledger.commitFailed([one])
    #expect(ledger.takeCommittable().isEmpty)
    for partition in [one, two] {
      ledger.finished(partition, 0, try begin(&ledger, partition, 0))
    }
    #expect(ledger.takeCommittable() == [one: 1, two: 1])
    ledger.commitFailed([two])
    #expect(ledger.takeCommittable() == [two: 1])
    ledger.revoked([two])
    ledger.commitFailed([two])
    #expect(ledger.takeCommittable().isEmpty)
  }

  @Test func offsetsThatKafkaNeverGivesAreRefused() {
    var ledger = assigned()
    let idle = ledger
    for offset in [Int64.min, -1001, -1, .max] { #expect(ledger.began(one, offset) == nil) }
    #expect(ledger == idle)
    #expect(ledger.began(one, .max - 1) != nil)
  }

  // MARK: random orders against a naive model

  @Test(arguments: 0..<40 as Range<UInt64>) func randomOrders(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var run = LedgerRun()
    for _ in 0..<2_000 { run.step(&random) }
    run.finishAll()
    #expect(run.complaints.isEmpty, "seed \(seed): \(run.complaints.prefix(3))")
    #expect(run.commits > 20, "seed \(seed)")
  }
}
