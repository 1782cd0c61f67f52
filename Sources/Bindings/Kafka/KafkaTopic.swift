/// A topic as it is to be made.
package struct KafkaTopic: Sendable, Equatable {
  package let name: String
  package let partitions: Int
  /// Brokers that have each partition.
  package let replicas: Int
  /// By Kafka's own names, such as `retention.ms`; what is not named is the brokers' default.
  package let configuration: [String: String]

  package init(
    _ name: String, partitions: Int, replicas: Int, configuration: [String: String] = [:]
  ) {
    self.name = name
    self.partitions = partitions
    self.replicas = replicas
    self.configuration = configuration
  }
}

/// The outcome of a request to create a topic.
package enum KafkaTopicCreation: Sendable, Equatable {
  case created
  /// It was left as it is.
  case existed
  case failed(KafkaError)
}
