import Ingest
import Kafka
import ServerProcesses

/// Where a bed's records go: an embedded broker of its own, or a real one, which other tests may
/// use at the same time and on which the bed has topics and a group that no other has.
struct BedKafka: Sendable {
  /// nil on a real one.
  let embedded: EmbeddedBroker?
  let bootstrapServers: String
  private(set) var ingest = IngestOptions()
  private var group: String?
  private let real: RealKafka?

  init(_ real: RealKafka?, partitions: Int) throws {
    self.real = real
    guard let real else {
      let embedded = try EmbeddedBroker(topics: Self.topics(ingest, partitions))
      self.embedded = embedded
      bootstrapServers = embedded.bootstrapServers
      return
    }
    embedded = nil
    bootstrapServers = real.bootstrapServers
    let name = "bed-" + String(UInt64.random(in: .min ... .max), radix: 16)
    group = name
    ingest.eventsTopic = name
    ingest.segmentsTopic = "\(name).segments"
    ingest.bulkTopic = "\(name).segments.bulk"
    ingest.stragglersTopic = "\(name).stragglers"
    ingest.deadLettersTopic = "\(name).dead-letters"
    try real.createTopics(Self.topics(ingest, partitions), as: options)
  }

  /// By a heartbeat a member learns that another one has joined. The embedded broker waits for that
  /// half a session; who is late, on a busy machine, joins again, and so on.
  private static let heartbeatMilliseconds = 500

  private static func topics(
    _ ingest: IngestOptions, _ partitions: Int
  ) -> [(name: String, partitions: Int)] {
    [ingest.eventsTopic, ingest.segmentsTopic, ingest.bulkTopic, ingest.stragglersTopic]
      .map { ($0, partitions) } + [(ingest.deadLettersTopic, 1)]
  }

  var options: KafkaOptions {
    var options = KafkaOptions(bootstrapServers: bootstrapServers)
    if let group { options.group = group }
    options.fetchWaitMaximum = .milliseconds(10)
    options.sessionTimeout = .seconds(6)
    options.heartbeatInterval = .milliseconds(Self.heartbeatMilliseconds)
    if let login = real?.login {
      options.securityProtocol = .saslTLS
      options.saslMechanism = "PLAIN"
      options.username = login.username
      options.password = login.password
      options.caFile = login.caFile
    }
    return options
  }

  /// As for `--set`.
  var settings: [String] {
    [
      "kafka.bootstrap_servers=\(bootstrapServers)", "kafka.group=\(options.group)",
      "kafka.fetch_wait_maximum=10ms", "kafka.session_timeout=6s",
      "kafka.heartbeat_interval=\(Self.heartbeatMilliseconds)ms",
      "kafka.topics.events=\(ingest.eventsTopic)",
      "kafka.topics.segments=\(ingest.segmentsTopic)",
      "kafka.topics.bulk_segments=\(ingest.bulkTopic)",
      "kafka.topics.stragglers=\(ingest.stragglersTopic)",
      "kafka.topics.dead_letters=\(ingest.deadLettersTopic)",
    ] + loginSettings
  }

  private var loginSettings: [String] {
    guard let login = real?.login else { return [] }
    let security = [
      "protocol=sasl_ssl", "mechanism=PLAIN", "username=\(login.username)",
      "password=\(login.password)", "ca_file=\(login.caFile)",
    ]
    return security.map { "kafka.security.\($0)" }
  }
}
