import Assembly
import Kafka
import Settings

/// Whether Kafka answers and has the topics.
enum KafkaChecks {
  private static let area = "kafka"
  /// With fewer a large fan-out has few workers to share it.
  private static let fewPartitions = 8
  /// What is suggested for a topic that does not exist; dead letters need one.
  private static let usualPartitions = 16

  /// Blocks for at most `timeout`.
  static func run(_ settings: Settings, timeout: Duration, _ list: inout CheckList) {
    login(settings.kafka.security, &list)
    let topics = settings.kafka.topics
    let names =
      [
        topics.events, topics.segments, topics.bulkSegments, topics.stragglers, topics.deadLetters,
      ] + (topics.tokens.map { [$0] } ?? [])
    let information: KafkaClusterInfo
    do {
      let admin = KafkaAdmin(Assembly.kafkaOptions(settings), log: { _ in })
      try admin.checkClients()
      information = try admin.metadata(topics: names, timeout: timeout)
    } catch {
      let isOurs = [.configuration, .authentication, .authorization].contains(error.code)
      list.problem(area, isOurs ? .configuration : .dependency, error.description)
      return
    }
    let brokers = information.brokers.sorted()
    list.ok(area, "\(brokers.count == 1 ? "broker" : "brokers") \(brokers.joined(separator: ", "))")
    for name in names { topic(name, information, settings, &list) }
    for name in [topics.segments, topics.bulkSegments] {
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
    _ name: String, _ information: KafkaClusterInfo, _ settings: Settings,
    _ list: inout CheckList
  ) {
    if let failure = information.failures[name] {
      list.problem(area, .dependency, failure.description)
    } else if let partitions = information.partitions[name] {
      list.ok(area, "\(name): \(partitions == 1 ? "1 partition" : "\(partitions) partitions")")
    } else {
      let server = settings.kafka.bootstrapServers.first ?? "127.0.0.1:9092"
      let partitions = name == settings.kafka.topics.deadLetters ? 1 : usualPartitions
      list.problem(
        area, .dependency, "the topic \(name) does not exist",
        hint: "kafka-topics.sh --bootstrap-server \(server) --create --topic \(name) "
          + "--partitions \(partitions)")
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
