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
