import Assembly
import Kafka
import Settings
import Text
import Topics

/// Whether Kafka answers and has the topics.
enum KafkaChecks {
  /// With fewer a large fan-out has few workers to share it.
  private static let fewPartitions = 8

  /// Those that a process reads or writes.
  static func topics(of process: CheckedProcess, _ settings: Settings) -> [String] {
    let topics = settings.kafka.topics
    let tokens = topics.tokens.map { [$0] } ?? []
    let outcomes = topics.outcomes.map { [$0] } ?? []
    return switch process {
    case .worker:
      [
        topics.events, topics.segments, topics.bulkSegments, topics.stragglers, topics.deadLetters,
      ] + tokens + outcomes
    case .api: [topics.events] + tokens
    case .emit: [topics.events]
    case .devices: tokens
    case .send, .fanout: []
    }
  }

  /// Blocks for at most `timeout` a question.
  /// - Parameter examination: what else is asked; nil: nothing.
  static func run(
    _ settings: Settings, for process: CheckedProcess, timeout: Duration,
    examination: KafkaExamination? = nil, _ list: inout CheckList
  ) {
    login(settings.kafka.security, &list)
    let topics = settings.kafka.topics
    let names = Self.topics(of: process, settings)
    let information: KafkaClusterInfo
    let admin = KafkaAdmin(Assembly.kafkaOptions(settings), log: { _ in })
    do {
      try admin.checkClients()
      information = try admin.metadata(topics: names, timeout: timeout)
    } catch {
      let isOurs = [.configuration, .authentication, .authorization].contains(error.code)
      list.problem("kafka.connection", isOurs ? .configuration : .outage, error.description)
      return
    }
    let brokers = information.brokers.sorted()
    list.ok(
      "kafka.connection",
      "\(brokers.count == 1 ? "broker" : "brokers") \(brokers.joined(separator: ", "))")
    for name in names { topic(name, information, &list) }
    // A worker must find records in its topics until it has read them.
    if process == .worker {
      TopicPolicyChecks(settings).run(
        admin, topics: information.partitions.keys.sorted(), timeout: timeout, &list)
    }
    if let examination {
      return examination.run(admin, information, timeout: timeout, &list)
    }
    for name in [topics.segments, topics.bulkSegments] where names.contains(name) {
      guard let partitions = information.partitions[name], partitions < fewPartitions else {
        continue
      }
      list.warning(
        "kafka.partitions", .dependency,
        "\(name): no more than \(partitions) workers can share a large fan-out",
        hint: "give it about as many partitions as all workers together have lanes")
    }
  }

  private static func topic(
    _ name: String, _ information: KafkaClusterInfo, _ list: inout CheckList
  ) {
    if let failure = information.failures[name] {
      list.problem("kafka.topics", .dependency, failure.description)
    } else if let partitions = information.partitions[name] {
      list.ok(
        "kafka.topics", "\(name): \(partitions == 1 ? "1 partition" : "\(partitions) partitions")")
    } else {
      list.problem(
        "kafka.topics", .dependency, "the topic \(name) does not exist",
        hint:
          "`fanfare topics create` makes it; with --dry-run it prints Kafka's own command. A user "
          + "without the right Describe does not see it either")
    }
  }

  private static func login(_ security: Settings.Kafka.Security, _ list: inout CheckList) {
    guard security.securityProtocol.usesSASL, KafkaVersion.scramFailsWithKafka4 else { return }
    switch security.mechanism {
    case .scramSHA256, .scramSHA512:
      list.warning(
        "kafka.login", .configuration,
        "librdkafka \(KafkaVersion.string) cannot log in with SCRAM at Kafka 4 brokers",
        key: "kafka.security.mechanism",
        hint: "they answer \"invalid credentials\": use PLAIN over TLS, or librdkafka 2.6.1")
    case .plain, .gssapi, .oauthBearer, nil: return
    }
  }
}

/// Whether topics keep their records for as long as somebody may still have to read them.
struct TopicPolicyChecks {
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
    let asked = topics.filter { $0 != self.topics.tokens && $0 != self.topics.outcomes }
    guard !asked.isEmpty else { return }
    let policies: [String: Result<TopicPolicy, KafkaError>]
    do {
      policies = try admin.policies(of: asked, timeout: timeout)
    } catch  where error.code == .unsupported {
      return list.skipped(
        "kafka.retention", "the retention of topics is not known: the embedded broker does not tell"
      )
    } catch {
      return list.skipped("kafka.retention", "the retention of topics is not known: \(error)")
    }
    for (topic, result) in policies.sorted(by: { $0.key < $1.key }) {
      switch result {
      case .success(let policy): check(topic, policy, &list)
      case .failure(let error):
        list.skipped("kafka.retention", "the retention of \(topic) is not known: \(error)")
      }
    }
  }

  func check(_ topic: String, _ policy: TopicPolicy, _ list: inout CheckList) {
    if policy.isCompacted {
      list.problem(
        "kafka.cleanup_policy", .dependency,
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
          "kafka.retention", .dependency,
          message + "may be of use for \(DurationText.text(usual)) and longer", hint: hint)
      } else {
        list.warning(
          "kafka.retention", .dependency,
          message + "may be of use for \(DurationText.text(usefulFor))",
          hint: hint + ", or a lower events.maximum_expires_in")
      }
    }
    if let bytes = policy.retentionBytes {
      list.warning(
        "kafka.retention_bytes", .dependency,
        "\(topic) forgets records beyond \(bytes) bytes a partition, read or not",
        hint: "kafka-configs.sh --alter --entity-type topics --entity-name \(topic) "
          + "--delete-config retention.bytes")
    }
  }
}
