import Kafka

/// A record as a partition keeps it.
package struct MemoryRecord: Sendable, Equatable {
  package let key: [UInt8]?
  package let value: [UInt8]?
  package let headers: [KafkaHeader]
  /// Ms since 1970.
  package let timestamp: Int64

  package init(key: [UInt8]?, value: [UInt8]?, headers: [KafkaHeader] = [], timestamp: Int64) {
    self.key = key
    self.value = value
    self.headers = headers
    self.timestamp = timestamp
  }

  func message(at offset: Int64, in partition: KafkaPartition) -> KafkaMessage {
    KafkaMessage(
      topic: partition.topic, partition: partition.partition, offset: offset, key: key,
      value: value, timestamp: timestamp, headers: headers)
  }
}

/// The records of one partition: a pure machine.
struct MemoryLog: Equatable {
  enum Reading: Equatable {
    /// Those of some offsets, and the next one to read.
    case records([Record], next: Int64)
    /// The offset is that of the next record to be written.
    case end
    /// The partition begins later, or ends sooner.
    case outOfRange
  }

  struct Record: Equatable {
    let offset: Int64
    let record: MemoryRecord
  }

  /// The first offset that is kept.
  private(set) var first: Int64 = 0
  /// Of `first` and the offsets that follow it; nil: a control record of a transaction, or a record
  /// that was aborted.
  private var kept: [MemoryRecord?] = []

  /// The offset of the next record that will be written.
  var end: Int64 { first + Int64(kept.count) }

  var records: [Record] {
    zip(first..., kept).compactMap { offset, record in
      record.map { Record(offset: offset, record: $0) }
    }
  }

  /// Returns the record's offset.
  mutating func append(_ record: MemoryRecord?) -> Int64 {
    kept.append(record)
    return end - 1
  }

  /// Throws away what is below the offset.
  mutating func delete(before offset: Int64) {
    let count = min(max(offset - first, 0), Int64(kept.count))
    kept.removeFirst(Int(count))
    first += count
  }

  func read(from offset: Int64, atMost count: Int) -> Reading {
    guard (first...end).contains(offset) else { return .outOfRange }
    guard offset < end else { return .end }
    let next = min(offset + Int64(count), end)
    let records = (offset..<next).compactMap { offset in
      kept[Int(offset - first)].map { Record(offset: offset, record: $0) }
    }
    return .records(records, next: next)
  }
}
