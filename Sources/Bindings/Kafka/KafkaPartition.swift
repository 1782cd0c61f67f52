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
