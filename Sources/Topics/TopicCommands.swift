import Kafka
import Keyspace

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

/// A difference between a topic that exists and the one that would be made.
package struct TopicDifference: Sendable, Equatable {
  /// `partitions`, `replication factor`, or a property by Kafka's own name.
  package let name: String
  package let found: String
  package let wanted: String

  /// Only what costs something: more partitions than wanted do no harm.
  package static func all(
    of topic: KafkaTopic, isWork: Bool, partitions: Int, replicas: Int,
    configuration: [String: String]
  ) -> [TopicDifference] {
    var differences: [TopicDifference] = []
    func note(_ name: String, _ found: String, _ wanted: String) {
      differences.append(TopicDifference(name: name, found: found, wanted: wanted))
    }
    if partitions < topic.partitions {
      note(partitionsName, "\(partitions)", "\(topic.partitions)")
    }
    if replicas < topic.replicas { note(replicasName, "\(replicas)", "\(topic.replicas)") }
    for (name, wanted) in topic.configuration.sorted(by: { $0.key < $1.key }) {
      guard let found = configuration[name], found != wanted else { continue }
      if let number = Int64(found), let least = Int64(wanted), isEnough(number, least, isWork) {
        continue
      }
      note(name, found, wanted)
    }
    return differences
  }

  static let partitionsName = "partitions"
  static let replicasName = "replication factor"

  /// Longer retention is fine up to Redis' memory of done events; -1 is for ever.
  private static func isEnough(_ found: Int64, _ least: Int64, _ isWork: Bool) -> Bool {
    let longest = Int64(Keyspace.eventLifetimeSeconds) * 1000
    return isWork ? (least...max(least, longest)).contains(found) : found == -1 || found >= least
  }
}
