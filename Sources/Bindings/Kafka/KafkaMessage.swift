import CRdKafka

/// A record as it was read, copied out of librdkafka. Nothing in it has been looked at.
package struct KafkaMessage: Sendable, Equatable {
  package let topic: String
  package let partition: Int32
  package let offset: Int64
  package let key: [UInt8]?
  /// Nil: a tombstone.
  package let value: [UInt8]?
  /// Ms since 1970 as the producer or the broker stamped it; 0 when there is no timestamp.
  package let timestamp: Int64
  package let headers: [KafkaHeader]

  package init(
    topic: String, partition: Int32, offset: Int64, key: [UInt8]?, value: [UInt8]?,
    timestamp: Int64 = 0, headers: [KafkaHeader] = []
  ) {
    self.topic = topic
    self.partition = partition
    self.offset = offset
    self.key = key
    self.value = value
    self.timestamp = timestamp
    self.headers = headers
  }

  /// Of the value; 0 for a tombstone.
  package var valueBytes: Int { value?.count ?? 0 }

  package var source: KafkaPartition { KafkaPartition(topic: topic, partition: partition) }
}

/// Called from threads of librdkafka: quick, and safe from any thread.
package typealias KafkaLog = @Sendable (KafkaLogLine) -> Void

extension KafkaMessage {
  /// Copies a message out of librdkafka, which keeps what it owns.
  init(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
    let record = message.pointee
    var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
    let timestamp = rd_kafka_message_timestamp(message, &kind)
    self.init(
      topic: record.rkt.map { String(cString: rd_kafka_topic_name($0)) } ?? "",
      partition: record.partition, offset: record.offset,
      key: Self.bytes(record.key, record.key_len),
      value: Self.bytes(record.payload, record.len),
      timestamp: kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? 0 : timestamp,
      headers: Self.headers(of: message))
  }

  private static func headers(
    of message: UnsafeMutablePointer<rd_kafka_message_t>
  ) -> [KafkaHeader] {
    var list: OpaquePointer?
    guard rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR, let list
    else { return [] }
    var headers: [KafkaHeader] = []
    var name: UnsafePointer<CChar>?
    var value: UnsafeRawPointer?
    var count = 0
    while rd_kafka_header_get_all(list, headers.count, &name, &value, &count)
      == RD_KAFKA_RESP_ERR_NO_ERROR, let text = name
    {
      headers.append(KafkaHeader(name: String(cString: text), value: bytes(value, count)))
    }
    return headers
  }

  /// Nil for Kafka's null, which is not the same as nothing.
  private static func bytes(_ start: UnsafeRawPointer?, _ count: Int) -> [UInt8]? {
    start.map { Array(UnsafeRawBufferPointer(start: $0, count: count)) }
  }
}

/// Where a sent record was written.
package struct KafkaDelivery: Sendable, Equatable {
  package let partition: Int32
  package let offset: Int64

  package init(partition: Int32, offset: Int64) {
    self.partition = partition
    self.offset = offset
  }
}

package struct KafkaHeader: Sendable, Equatable {
  package let name: String
  /// Nil: the header is there without a value.
  package let value: [UInt8]?

  package init(name: String, value: [UInt8]?) {
    self.name = name
    self.value = value
  }

  package init(_ name: String, _ text: String) {
    self.init(name: name, value: Array(text.utf8))
  }
}

/// A partition of a topic.
package struct KafkaPartition: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let topic: String
  package let partition: Int32

  package init(topic: String, partition: Int32) {
    self.topic = topic
    self.partition = partition
  }

  package var description: String { "\(topic)/\(partition)" }

  package static func < (left: KafkaPartition, right: KafkaPartition) -> Bool {
    (left.topic, left.partition) < (right.topic, right.partition)
  }
}

/// One thing that a consumer's `poll` has to say.
package enum KafkaPoll: Sendable, Equatable {
  case message(KafkaMessage)
  /// All that is in the partition has been read; the next record will have this offset, or a later
  /// one. Said where offsets without a record lie before it, and where nothing was committed yet:
  /// once that is, it is known what the partition loses.
  case end(KafkaPartition, Int64)
  /// Kafka has thrown these offsets away before they were read here, or anywhere in the group: by
  /// retention, or because somebody deleted them. Said before the record, or the end, that follows.
  case skipped(KafkaPartition, Range<Int64>)
  /// These partitions are ours now; reading begins at their committed offsets.
  case assigned([KafkaPartition])
  /// The group wants these back and waits: finish what is under way, then call `giveUpRevoked`.
  case revoking([KafkaPartition])
  /// The group took these back in good order.
  case revoked([KafkaPartition])
  /// These were taken away without asking; others may be working on them already.
  case lost([KafkaPartition])
  case committed([KafkaPartition: Int64])
  case commitFailed([KafkaPartition: Int64], KafkaError)
  case error(KafkaError)
  /// Whether any broker can be reached, when that has changed; said first when it is known.
  case reachable(Bool)
}

/// A line that librdkafka wants to have logged.
package struct KafkaLogLine: Sendable, Equatable {
  package enum Level: Sendable, Equatable, CaseIterable {
    case error, warning, notice, info, debug

    /// From syslog's numbers, 0 (emergency) … 7 (debug).
    init(syslog: Int32) {
      switch syslog {
      case ...3: self = .error
      case 4: self = .warning
      case 5: self = .notice
      case 6: self = .info
      default: self = .debug
      }
    }
  }

  package let level: Level
  /// librdkafka's word for the part that speaks: `FAIL`, `REBALANCE`, `MAXPOLL`, …
  package let facility: String
  package let message: String
}
