/// How to reach Kafka and how to behave there. Consumer, producer and the checks share it.
package struct KafkaOptions: Sendable, Equatable {
  package enum SecurityProtocol: String, Sendable, CaseIterable {
    case plaintext
    case tls = "ssl"
    case saslPlaintext = "sasl_plaintext"
    case saslTLS = "sasl_ssl"
  }

  /// `host:port`, several separated by commas.
  package var bootstrapServers: String
  package var clientID = "fanfare"
  package var group = "fanfare"
  /// A static member's name in its group (KIP-345): who comes back under it within the session gets
  /// the partitions that it had, and the group does not notice. Nil: a new member each time.
  package var staticMember: String?

  package var securityProtocol = SecurityProtocol.plaintext
  /// `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512` (see `KafkaVersion.scramFailsWithKafka4`), or
  /// `GSSAPI`, `OAUTHBEARER`, of which `properties` say more.
  package var saslMechanism: String?
  package var username: String?
  package var password: String?
  /// PEM file of the authorities to trust; nil: the system's.
  package var caFile: String?

  /// How long a broker may hold a fetch back while it has nothing to send. Real brokers answer at
  /// once when something arrives, whatever this says; the embedded one does not look again before
  /// it is over.
  package var fetchWaitMaximum = Duration.milliseconds(100)
  /// After this long without heartbeat the group gives our partitions to others. Brokers allow 6
  /// s to 30 min by default. A member that was killed and comes back is a new one, and a rebalance
  /// waits for the old one until its session ends; so does the first one after an outage of Kafka
  /// that was longer than the session.
  package var sessionTimeout = Duration.seconds(6)
  /// How often the group's coordinator hears of us, and we of a rebalance: a group waits this long
  /// for its slowest member. Never more than a third of the session.
  package var heartbeatInterval = Duration.seconds(1)
  /// After this long without `poll` we leave the group ourselves. Never shorter than the session.
  package var pollIntervalMaximum = Duration.seconds(60)
  /// Whether producers look, too; `KafkaProducer.isReachable` says what they see.
  package var producersWatchBrokers = false
  /// How often a consumer looks whether any broker can be reached.
  package var reachabilityInterval = Duration.seconds(5)
  /// Bytes read ahead of `poll`, over all partitions. Before 2.2 librdkafka looks only once a
  /// second whether a full read-ahead has room again, so this must hold a second's work: 1,000
  /// segment records of 1 KiB are two million followers; eight times that leaves room for large
  /// events.
  var readAheadBytes = 8 * 1024 * 1024

  /// How long a record may wait for company before it is sent.
  package var linger = Duration.milliseconds(2)
  /// After this long without acknowledgement a sent record is reported as failed.
  package var messageTimeout = Duration.seconds(30)
  /// Records that are sent and not yet acknowledged; `send` waits for room beyond them.
  package var maximumInFlight = 1000
  /// Larger records are refused by the producer before they are sent. A dead letter carries what
  /// some other producer could write, so this is well above a broker's usual limit of 1 MiB.
  package var maximumMessageBytes = 32 * 1024 * 1024

  /// Any other property of librdkafka, by its name there. Settings refuse those that the promises
  /// rest on.
  package var properties: [String: String] = [:]

  /// The most that both clients keep: read-ahead and an answer that arrives; records that are being
  /// written, of which librdkafka has a copy of its own in the requests under way.
  package var maximumMemoryBytes: Int {
    readAheadBytes / 2 * 3 + maximumSendingBytes + Self.requestBytes
  }

  /// Of all records that are sent and not yet acknowledged.
  package var maximumSendingBytes: Int { 2 * maximumMessageBytes }

  private static let requestBytes = 8 << 20

  package init(bootstrapServers: String) {
    self.bootstrapServers = bootstrapServers
  }
}

extension Duration {
  /// Whole milliseconds, rounded up so that a short time never becomes none; bounded for
  /// librdkafka's ints.
  var wholeMilliseconds: Int {
    let (seconds, attoseconds) = components
    let bounded = min(max(seconds, 0), 2_000_000)
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    return Int(bounded) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
