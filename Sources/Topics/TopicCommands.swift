import Kafka

/// The same in the words of Kafka's own tools, for whoever may do more with Kafka than Fanfare may.
package struct TopicCommands: Sendable {
  private let server: String

  package init(bootstrapServers: [String]) { server = bootstrapServers.joined(separator: ",") }

  package func create(_ topic: KafkaTopic) -> String {
    let properties = topic.configuration.sorted { $0.key < $1.key }
      .map { " --config \($0.key)=\($0.value)" }.joined()
    return "kafka-topics.sh --bootstrap-server \(server) --create --if-not-exists "
      + "--topic \(topic.name) --partitions \(topic.partitions) "
      + "--replication-factor \(topic.replicas)\(properties)"
  }

  package func mend(_ difference: TopicDifference, of topic: String) -> String {
    switch difference.name {
    case TopicDifference.partitionsName:
      "kafka-topics.sh --bootstrap-server \(server) --alter --topic \(topic) "
        + "--partitions \(difference.wanted)"
    case TopicDifference.replicasName:
      "kafka-reassign-partitions.sh --bootstrap-server \(server) --execute "
        + "--reassignment-json-file FILE  # which gives \(topic) \(difference.wanted) replicas"
    default:
      "kafka-configs.sh --bootstrap-server \(server) --alter --entity-type topics "
        + "--entity-name \(topic) --add-config \(difference.name)=\(difference.wanted)"
    }
  }
}
