import Kafka
import Text

@testable import Ingest

/// The ledger beside a model that keeps everything: what was read and what is done in each
/// assignment.
struct LedgerRun {
  private struct Reading {
    /// Numbers by offset, as they were given out last.
    var began: [Int64: Int] = [:]
    var done: Set<Int64> = []
    var start: Int64
    var next: Int64

    /// The first that is not done, or where reading goes on.
    var watermark: Int64 { began.keys.filter { !done.contains($0) }.min() ?? next }
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
  /// As the broker has it.
  private var committed: [KafkaPartition: Int64] = [:]
  /// Partitions whose next commit may stand below the last, or where it was.
  private var isFree: Set<KafkaPartition> = []
  private(set) var complaints: [String] = []
  private(set) var commits = 0

  mutating func step(_ random: inout SplitMix64) {
    let partition = partitions[Int.random(in: 0..<3, using: &random)]
    switch Int.random(in: 0..<200, using: &random) {
    case 0..<4: assign(partition)
    case 4..<6: revoke(partition)
    case 6:
      begin(partition, at: Int64.random(in: 0...(readings[partition]?.next ?? 0), using: &random))
    case 7..<90:
      let gap = max(0, Int64.random(in: 0..<20, using: &random) - 17)
      begin(partition, at: (readings[partition]?.next ?? 7) + gap)
    case 90..<170: if !work.isEmpty { finish(Int.random(in: 0..<work.count, using: &random)) }
    case 170..<174: failCommit(partition)
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
    let next = committed[partition] ?? 0
    readings[partition] = Reading(start: next, next: next)
    isFree.remove(partition)
  }

  private mutating func revoke(_ partition: KafkaPartition) {
    ledger.revoked([partition])
    readings[partition] = nil
  }

  private mutating func begin(_ partition: KafkaPartition, at offset: Int64) {
    let number = ledger.began(partition, offset)
    guard var reading = readings[partition] else {
      if number != nil { complaints.append("began on a partition that is not ours") }
      return
    }
    guard let number else { return complaints.append("not begun at \(offset)") }
    if offset < reading.next { isFree.insert(partition) }
    if offset < reading.next, !reading.began.isEmpty {
      reading.began = reading.began.filter { $0.key < offset }
      reading.done = reading.done.filter { $0 < offset }
    } else if reading.began.isEmpty {
      reading.start = offset
    }
    reading.began[offset] = number
    reading.next = offset + 1
    readings[partition] = reading
    work.append(Work(partition: partition, offset: offset, number: number))
  }

  private mutating func finish(_ index: Int) {
    let item = work.remove(at: index)
    ledger.finished(item.partition, item.offset, item.number)
    if readings[item.partition]?.began[item.offset] == item.number {
      readings[item.partition]?.done.insert(item.offset)
    }
  }

  private mutating func failCommit(_ partition: KafkaPartition) {
    ledger.commitFailed([partition])
    isFree.insert(partition)
  }

  private mutating func commit() {
    for (partition, offset) in ledger.takeCommittable() {
      commits += 1
      guard let reading = readings[partition], !reading.began.isEmpty else {
        complaints.append("commit of a partition of which nothing was read")
        continue
      }
      if offset != reading.watermark { complaints.append("\(partition): \(offset) skips or lags") }
      if let before = committed[partition], offset <= before, !isFree.contains(partition) {
        complaints.append("\(partition): \(offset) after \(before)")
      }
      committed[partition] = offset
      isFree.remove(partition)
    }
    for (partition, reading) in readings where !reading.began.isEmpty {
      if reading.watermark != reading.start, committed[partition] != reading.watermark {
        complaints.append("\(partition): \(reading.watermark) could be committed")
      }
    }
  }
}
