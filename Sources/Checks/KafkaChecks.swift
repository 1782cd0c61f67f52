import Assembly
import Kafka
import Settings

/// Whether Kafka answers and has the topics.
enum KafkaChecks {
  private static let area = "kafka"
  /// With fewer a large fan-out has few workers to share it.
  private static let fewPartitions = 8

  /// Those that a process reads or writes.
  static func topics(of process: CheckedProcess, _ settings: Settings) -> [String] {
    let topics = settings.kafka.topics
    let tokens = topics.tokens.map { [$0] } ?? []
    return switch process {
    case .worker:
      [
        topics.events, topics.segments, topics.bulkSegments, topics.stragglers, topics.deadLetters,
      ] + tokens
    case .api: [topics.events] + tokens
    case .emit: [topics.events]
    case .devices: tokens
    case .send, .fanout: []
    }
  }

  /// Blocks for at most `timeout`.
  static func run(
    _ settings: Settings, for process: CheckedProcess, timeout: Duration, _ list: inout CheckList
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
      list.problem(area, isOurs ? .configuration : .dependency, error.description)
      return
    }
    let brokers = information.brokers.sorted()
    list.ok(area, "\(brokers.count == 1 ? "broker" : "brokers") \(brokers.joined(separator: ", "))")
    for name in names { topic(name, information, &list) }
    // Whoever reads them must still find what it is to read.
    if process == .worker {
      TopicPolicyChecks(settings).run(
        admin, topics: information.partitions.keys.sorted(), timeout: timeout, &list)
    }
    for name in [topics.segments, topics.bulkSegments] where names.contains(name) {
      guard let partitions = information.partitions[name], partitions < fewPartitions else {
        continue
      }
      list.warning(
        area, .dependency,
        "\(name): no more than \(partitions) workers can share a large fan-out",
        hint: "give it about as many partitions as all workers together have lanes")
    }
  }

  private static func topic(
    _ name: String, _ information: KafkaClusterInfo, _ list: inout CheckList
  ) {
    if let failure = information.failures[name] {
      list.problem(area, .dependency, failure.description)
    } else if let partitions = information.partitions[name] {
      list.ok(area, "\(name): \(partitions == 1 ? "1 partition" : "\(partitions) partitions")")
    } else {
      list.problem(
        area, .dependency, "the topic \(name) does not exist",
        hint: "`fanfare topics create` makes it; with --dry-run it prints Kafka's own command")
    }
  }

  private static func login(_ security: Settings.Kafka.Security, _ list: inout CheckList) {
    guard security.securityProtocol.usesSASL, KafkaVersion.scramFailsWithKafka4 else { return }
    switch security.mechanism {
    case .scramSHA256, .scramSHA512:
      list.warning(
        area, .configuration,
        "librdkafka \(KafkaVersion.string) cannot log in with SCRAM at Kafka 4 brokers",
        key: "kafka.security.mechanism",
        hint: "they answer \"invalid credentials\": use PLAIN over TLS, or librdkafka 2.6.1")
    case .plain, .gssapi, .oauthBearer, nil: return
    }
  }
}
