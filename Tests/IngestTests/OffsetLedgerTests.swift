import Ingest
import Kafka
import Testing

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

  @Test func assignedAgainWithoutRevocationStartsAnew() throws {
    var ledger = assigned()
    let old = try begin(&ledger, one, 9)
    ledger.assigned([one])
    ledger.finished(one, 9, old)
    #expect(ledger.takeCommittable().isEmpty)
    let new = try begin(&ledger, one, 3)
    ledger.finished(one, 3, new)
    #expect(ledger.takeCommittable() == [one: 4])
  }

  @Test func aRecordDeliveredAgainDoesNotCommitBackwards() throws {
    var ledger = assigned()
    let number = try begin(&ledger, one, 5)
    ledger.finished(one, 5, number)
    #expect(ledger.takeCommittable() == [one: 6])
    _ = ledger.began(one, 3)
    #expect(ledger.takeCommittable().isEmpty)
    ledger.finished(one, 3, number)
    #expect(ledger.takeCommittable().isEmpty)
    _ = ledger.began(one, 6)
    ledger.finished(one, 6, number)
    #expect(ledger.takeCommittable() == [one: 7])
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
    var random = SeededRandom(seed: seed)
    var run = LedgerRun()
    for _ in 0..<2_000 { run.step(&random) }
    run.finishAll()
    #expect(run.complaints.isEmpty, "seed \(seed): \(run.complaints.prefix(3))")
    #expect(run.commits > 20, "seed \(seed)")
  }
}

/// The ledger beside a model that keeps everything: what was read and what is done in each
/// assignment.
private struct LedgerRun {
  private struct Reading {
    var number: Int?
    var began: [Int64] = []
    var done: Set<Int64> = []
    var committed: Int64?
    var next: Int64
  }

  private struct Work {
    let partition: KafkaPartition
    let offset: Int64
    let number: Int
  }

  private let partitions = (0..<3).map { KafkaPartition(topic: "t", partition: $0) }
  private var ledger = OffsetLedger()
  private var readings: [KafkaPartition: Reading] = [:]
  private var work: [Work] = []
  private var committed: [KafkaPartition: Int64] = [:]
  private(set) var complaints: [String] = []
  private(set) var commits = 0

  mutating func step(_ random: inout SeededRandom) {
    let partition = partitions[Int.random(in: 0..<3, using: &random)]
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<2: assign(partition)
    case 2..<3: revoke(partition)
    case 3..<45: begin(partition, skipping: Int64.random(in: 0..<20, using: &random))
    case 45..<85: if !work.isEmpty { finish(Int.random(in: 0..<work.count, using: &random)) }
    default: commit()
    }
    let open = readings.values.reduce(0) { $0 + $1.began.count - $1.done.count }
    if ledger.unfinished != open { complaints.append("\(ledger.unfinished) open, not \(open)") }
  }

  mutating func finishAll() {
    while !work.isEmpty { finish(0) }
    commit()
    for (partition, reading) in readings where !reading.began.isEmpty {
      if committed[partition] != reading.next {
        complaints.append("\(partition) not all committed")
      }
    }
  }

  /// As Kafka: reading goes on where the last commit of anybody stands.
  private mutating func assign(_ partition: KafkaPartition) {
    ledger.assigned([partition])
    readings[partition] = Reading(next: committed[partition] ?? 0)
  }

  private mutating func revoke(_ partition: KafkaPartition) {
    ledger.revoked([partition])
    readings[partition] = nil
  }

  private mutating func begin(_ partition: KafkaPartition, skipping: Int64) {
    let offset = (readings[partition]?.next ?? 7) + (skipping > 17 ? skipping - 17 : 0)
    let number = ledger.began(partition, offset)
    guard readings[partition] != nil else {
      if number != nil { complaints.append("began on a partition that is not ours") }
      return
    }
    guard let number else { return complaints.append("not begun at \(offset)") }
    if let before = readings[partition]?.number, before != number {
      complaints.append("the number of an assignment changed")
    }
    readings[partition]?.number = number
    readings[partition]?.began.append(offset)
    readings[partition]?.next = offset + 1
    work.append(Work(partition: partition, offset: offset, number: number))
  }

  private mutating func finish(_ index: Int) {
    let item = work.remove(at: index)
    ledger.finished(item.partition, item.offset, item.number)
    if readings[item.partition]?.number == item.number {
      readings[item.partition]?.done.insert(item.offset)
    }
  }

  private mutating func commit() {
    for (partition, offset) in ledger.takeCommittable() {
      commits += 1
      guard let reading = readings[partition] else {
        complaints.append("commit of a partition that is not ours")
        continue
      }
      if reading.began.contains(where: { $0 < offset && !reading.done.contains($0) }) {
        complaints.append("\(partition): \(offset) skips a record")
      }
      if let before = committed[partition], offset <= before {
        complaints.append("\(partition): \(offset) after \(before)")
      }
      committed[partition] = offset
    }
    for (partition, reading) in readings {
      let undone = reading.began.first { !reading.done.contains($0) }
      let wanted = undone ?? reading.next
      if !reading.began.isEmpty, wanted > reading.began[0], committed[partition] != wanted {
        complaints.append("\(partition): \(wanted) could be committed")
      }
    }
  }
}
