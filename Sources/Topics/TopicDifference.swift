import Kafka
import Keyspace

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
