import CRdKafka

/// Questions and orders outside of reading and writing records. Each makes a client of its own
/// and blocks.
package struct KafkaAdmin: Sendable {
  let options: KafkaOptions
  let log: KafkaLog

  package init(_ options: KafkaOptions, log: @escaping KafkaLog) {
    self.options = options
    self.log = log
  }

  /// Whether Kafka answers and how many partitions these topics have. Creates nothing. Blocks for
  /// at most `timeout`; throws what best explains why nobody answered: a refused login, say, not
  /// the time-out it led to.
  package func metadata(
    topics: [String], timeout: Duration
  ) throws(KafkaError) -> KafkaClusterInfo {
    let client = try AdminClient(options, log: log)
    let answer = try client.metadata(timeout: timeout)
    let asked = Set(topics)
    let known = answer.topics.filter { asked.contains($0.name) }
    var partitions: [String: Int] = [:]
    var replicas: [String: Int] = [:]
    var failures: [String: KafkaError] = [:]
    for topic in known {
      if topic.error == RD_KAFKA_RESP_ERR_NO_ERROR {
        partitions[topic.name] = topic.partitions
        replicas[topic.name] = topic.replicas
      } else if topic.error != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART {
        failures[topic.name] = KafkaError(topic.error, doing: "looking at topic \(topic.name)")
      }
    }
    return KafkaClusterInfo(
      brokers: answer.brokers, partitions: partitions, replicas: replicas, failures: failures)
  }

  /// Throws where the options make no consumer, or no producer, as a worker has them: librdkafka
  /// looks at how properties go together when a client is made. Waits for nobody.
  package func checkClients() throws(KafkaError) {
    var consumer = try KafkaConfiguration(options)
    try consumer.setConsumer(options)
    _ = try AdminClient(consumer, RD_KAFKA_CONSUMER, log: log)
    var producer = try KafkaConfiguration(options)
    try producer.setProducer(options)
    _ = try AdminClient(producer, RD_KAFKA_PRODUCER, log: log)
  }

  /// The end of each partition of a topic: the offset of the next record that will be written.
  /// Blocks for at most `timeout` a partition.
  package func ends(of topic: String, timeout: Duration) throws(KafkaError) -> [Int32: Int64] {
    let client = try AdminClient(options, log: log)
    let topics = try client.metadata(timeout: timeout).topics
    guard let known = topics.first(where: { $0.name == topic }) else {
      throw KafkaError(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, doing: "looking at topic \(topic)")
    }
    var ends: [Int32: Int64] = [:]
    for partition in 0..<Int32(clamping: known.partitions) {
      ends[partition] = try client.end(of: topic, partition, timeout: timeout)
    }
    return ends
  }
}

/// A client that lives for one question.
struct AdminClient: ~Copyable {
  let handle: OpaquePointer
  private let state: AdminState

  init(_ admin: KafkaAdmin) throws(KafkaError) { try self.init(admin.options, log: admin.log) }

  init(_ options: KafkaOptions, log: @escaping KafkaLog) throws(KafkaError) {
    var configuration = try KafkaConfiguration(options)
    try configuration.setAll(options.properties)
    try self.init(configuration, RD_KAFKA_PRODUCER, log: log)
  }

  init(
    _ configuration: consuming KafkaConfiguration, _ type: rd_kafka_type_t,
    log: @escaping KafkaLog
  ) throws(KafkaError) {
    let state = AdminState(log: log)
    handle = try configuration.makeClient(type, state)
    self.state = state
  }

  deinit {
    rd_kafka_destroy(handle)
    state.release()
  }

  /// - Parameter all: with all topics, not the brokers alone. Asking for one topic that is missing
  ///   would make a broker create it.
  func metadata(ofAllTopics all: Bool = true, timeout: Duration) throws(KafkaError) -> (
    brokers: [String],
    topics: [(name: String, partitions: Int, replicas: Int, error: rd_kafka_resp_err_t)]
  ) {
    var metadata: UnsafePointer<rd_kafka_metadata>?
    let deadline = ContinuousClock.now + timeout
    var error = RD_KAFKA_RESP_ERR__TIMED_OUT
    // In slices: a login that is refused stays refused, however long one waits.
    repeat {
      let slice = min(.milliseconds(500), max(deadline - .now, .zero))
      error = rd_kafka_metadata(handle, all ? 1 : 0, nil, &metadata, Int32(slice.wholeMilliseconds))
      rd_kafka_poll(handle, 0)
    } while [RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__TRANSPORT].contains(error)
      && !state.isRefused && .now < deadline
    guard error == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else {
      throw explain(KafkaError(error, doing: "asking Kafka"))
    }
    defer { rd_kafka_metadata_destroy(metadata) }
    let answer = metadata.pointee
    let brokers = (0..<Int(answer.broker_cnt)).compactMap { index -> String? in
      let broker = answer.brokers[index]
      return broker.host.map { "\(String(cString: $0)):\(broker.port)" }
    }
    let topics = (0..<Int(answer.topic_cnt)).compactMap { index in
      let topic = answer.topics[index]
      let count = Int(topic.partition_cnt)
      let replicas = (0..<count).map { Int(topic.partitions[$0].replica_cnt) }.min() ?? 0
      return topic.topic.map {
        (name: String(cString: $0), partitions: count, replicas: replicas, error: topic.err)
      }
    }
    return (brokers, topics)
  }

  func end(of topic: String, _ partition: Int32, timeout: Duration) throws(KafkaError) -> Int64 {
    do {
      return try KafkaPartition(topic: topic, partition: partition)
        .bounds(by: handle, timeout: timeout).end
    } catch {
      throw explain(error)
    }
  }

  /// The client's own report is closer to the truth than the time-out that followed from it.
  func explain(_ error: KafkaError) -> KafkaError {
    rd_kafka_poll(handle, 0)
    return state.errors.first { $0.code != .unreachable && $0.code != .timedOut }
      ?? state.errors.first ?? error
  }
}

/// The state of the callbacks of an `AdminClient`. `errors` is touched inside `rd_kafka_poll` only.
final class AdminState: CallbackState {
  var errors: [KafkaError] = []
  var isRefused: Bool { errors.contains { $0.code == .authentication } }

  override func failed(_ error: KafkaError, _ code: rd_kafka_resp_err_t) { errors.append(error) }
}

/// The brokers and topics of a Kafka, as its metadata says.
package struct KafkaClusterInfo: Sendable, Equatable {
  /// `host:port` of each broker.
  package let brokers: [String]
  /// Partitions by topic, of the topics asked for; one that does not exist is not in it.
  package let partitions: [String: Int]
  /// How many brokers have each topic of `partitions`; of its partitions, the one on the fewest.
  package let replicas: [String: Int]
  /// The topics asked for that exist and cannot be used, with the reason.
  package let failures: [String: KafkaError]
}
