import Kafka
import Settings
import Text
import Topics

/// Whether topics keep their records for as long as somebody may still have to read them.
struct TopicPolicyChecks {
  private static let area = "kafka"

  private let events: Settings.Events
  private let topics: Settings.Kafka.Topics

  init(_ settings: Settings) {
    events = settings.events
    topics = settings.kafka.topics
  }

  /// For so long a record may be of use: an event until it expires, and what belongs to it; at most
  /// as long as `topics create` lets Kafka keep it.
  private var usefulFor: Duration { min(events.maximumExpiresIn, TopicPlan.longestOfWork) }

  /// Of topics that are there. Blocks for at most `timeout`.
  func run(
    _ admin: KafkaAdmin, topics: [String], timeout: Duration, _ list: inout CheckList
  ) {
    let asked = topics.filter { $0 != self.topics.tokens }
    guard !asked.isEmpty else { return }
    let policies: [String: Result<TopicPolicy, KafkaError>]
    do {
      policies = try admin.policies(of: asked, timeout: timeout)
    } catch  where error.code == .unsupported {
      return list.skipped(
        Self.area, "the retention of topics is not known: the embedded broker does not tell")
    } catch {
      return list.skipped(Self.area, "the retention of topics is not known: \(error)")
    }
    for (topic, result) in policies.sorted(by: { $0.key < $1.key }) {
      switch result {
      case .success(let policy): check(topic, policy, &list)
      case .failure(let error):
        list.skipped(Self.area, "the retention of \(topic) is not known: \(error)")
      }
    }
  }

  func check(_ topic: String, _ policy: TopicPolicy, _ list: inout CheckList) {
    if policy.isCompacted {
      list.problem(
        Self.area, .dependency,
        "\(topic) is compacted: of two records with one key only the last is kept for sure",
        hint: "kafka-configs.sh --alter --entity-type topics --entity-name \(topic) "
          + "--add-config cleanup.policy=delete")
    }
    // Nobody reads them again for an event's sake.
    guard topic != topics.deadLetters else { return }
    if let retention = policy.retention, retention < usefulFor {
      let usual = events.defaultExpiresIn
      let message =
        "\(topic) forgets records after \(DurationText.text(retention)), read or not, and an event "
      let hint =
        "kafka-configs.sh --alter --entity-type topics --entity-name \(topic) --add-config "
        + "retention.ms=\(usefulFor.components.seconds * 1000)"
      if retention < usual {
        list.problem(
          Self.area, .dependency,
          message + "may be of use for \(DurationText.text(usual)) and longer", hint: hint)
      } else {
        list.warning(
          Self.area, .dependency,
          message + "may be of use for \(DurationText.text(usefulFor))",
          hint: hint + ", or a lower events.maximum_expires_in")
      }
    }
    if let bytes = policy.retentionBytes {
      list.warning(
        Self.area, .dependency,
        "\(topic) forgets records beyond \(bytes) bytes a partition, read or not",
        hint: "kafka-configs.sh --alter --entity-type topics --entity-name \(topic) "
          + "--delete-config retention.bytes")
    }
  }
}
