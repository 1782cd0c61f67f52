import CRdKafka

/// Places records whose keys end in a dot and a number, such as `live-1/3.17`, in partitions by
/// turns: those that differ in the number alone are spread as evenly as can be, where hashes of
/// them would give one partition half as much again as another. All other keys are placed by their
/// hash, as Kafka's own clients do.
package enum TurnPartitioner {
  /// For a topic's configuration. May be called on any thread.
  static func install(in configuration: OpaquePointer?) {
    rd_kafka_topic_conf_set_partitioner_cb(configuration) {
      topic, key, length, count, topicOpaque, messageOpaque in
      let bytes = UnsafeRawBufferPointer(start: key, count: key == nil ? 0 : length)
      guard let numbered = TurnPartitioner.number(endingIn: bytes) else {
        return rd_kafka_msg_partitioner_murmur2_random(
          topic, key, length, count, topicOpaque, messageOpaque)
      }
      let first = rd_kafka_msg_partitioner_murmur2(
        topic, key, numbered.prefixLength, count, topicOpaque, messageOpaque)
      return Int32(truncatingIfNeeded: (Int(first) + numbered.number) % Int(max(count, 1)))
    }
  }

  /// Of at most nine digits.
  package static func number(
    endingIn key: UnsafeRawBufferPointer
  ) -> (number: Int, prefixLength: Int)? {
    guard let dot = key.lastIndex(of: UInt8(ascii: ".")), (1...9).contains(key.count - dot - 1)
    else { return nil }
    var number = 0
    for byte in key[(dot + 1)...] {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return (number, dot)
  }
}
