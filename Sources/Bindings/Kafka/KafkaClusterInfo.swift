import CRdKafka

/// The brokers and topics of a Kafka, as its metadata says.
package struct KafkaClusterInfo: Sendable, Equatable {
  /// `host:port` of each broker.
  package let brokers: [String]
  /// Partitions by topic, of the topics asked for; one that does not exist is not in it.
  package let partitions: [String: Int]
  /// How many brokers have each topic of `partitions`; of its partitions, the one on the fewest.
  package let replicas: [String: Int]
  /// The topics asked for that exist and cannot be used, with the reason.
  package let failures: [String: KafkaError]
}
