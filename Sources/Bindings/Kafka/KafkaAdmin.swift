import CRdKafka

/// Questions and orders outside of reading and writing records. Each makes a client of its own
/// and blocks.
package struct KafkaAdmin: Sendable {
  private let options: KafkaOptions
  private let log: KafkaLog

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
    var failures: [String: KafkaError] = [:]
    for topic in known {
      if topic.error == RD_KAFKA_RESP_ERR_NO_ERROR {
        partitions[topic.name] = topic.partitions
      } else if topic.error != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART {
        failures[topic.name] = KafkaError(topic.error, doing: "looking at topic \(topic.name)")
      }
    }
    return KafkaClusterInfo(brokers: answer.brokers, partitions: partitions, failures: failures)
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
      throw KafkaError(
        RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, doing: "looking at topic \(topic)")
    }
    var ends: [Int32: Int64] = [:]
    for partition in 0..<Int32(clamping: known.partitions) {
      ends[partition] = try client.end(of: topic, partition, timeout: timeout)
    }
    return ends
  }

  /// Creates the topics that are missing; those that exist are left as they are. Blocks for at most
  /// `timeout`. Real brokers only: make the embedded one's topics with `EmbeddedBroker`.
  package func createTopics(
    _ topics: [(name: String, partitions: Int)], replicas: Int, timeout: Duration
  ) throws(KafkaError) {
    let client = try AdminClient(options, log: log)
    for result in try client.create(topics, replicas: replicas, timeout: timeout)
    where result.error != RD_KAFKA_RESP_ERR_NO_ERROR
      && result.error != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS
    {
      throw KafkaError(
        result.error, doing: "creating the topic \(result.name)", detail: result.text)
    }
  }
}

/// A client that lives for one question.
private struct AdminClient: ~Copyable {
  private let handle: OpaquePointer
  private let state: AdminState

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

  func metadata(timeout: Duration) throws(KafkaError) -> (
    brokers: [String], topics: [(name: String, partitions: Int, error: rd_kafka_resp_err_t)]
  ) {
    var metadata: UnsafePointer<rd_kafka_metadata>?
    let deadline = ContinuousClock.now + timeout
    var error = RD_KAFKA_RESP_ERR__TIMED_OUT
    // All topics: asking for one that is missing would make a broker create it. In slices: a login
    // that is refused stays refused, however long one waits.
    repeat {
      let slice = min(.milliseconds(500), max(deadline - .now, .zero))
      error = rd_kafka_metadata(handle, 1, nil, &metadata, Int32(slice.wholeMilliseconds))
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
      return topic.topic.map {
        (name: String(cString: $0), partitions: Int(topic.partition_cnt), error: topic.err)
      }
    }
    return (brokers, topics)
  }

  func end(
    of topic: String, _ partition: Int32, timeout: Duration
  ) throws(KafkaError) -> Int64 {
    do {
      return try KafkaPartition(topic: topic, partition: partition)
        .bounds(by: handle, timeout: timeout).end
    } catch {
      throw explain(error)
    }
  }

  func create(
    _ topics: [(name: String, partitions: Int)], replicas: Int, timeout: Duration
  ) throws(KafkaError) -> [(name: String, error: rd_kafka_resp_err_t, text: String)] {
    var text = [CChar](repeating: 0, count: 256)
    var wanted: [OpaquePointer?] = []
    defer { for topic in wanted { rd_kafka_NewTopic_destroy(topic) } }
    for topic in topics {
      guard
        let new = rd_kafka_NewTopic_new(
          topic.name, Int32(clamping: topic.partitions), Int32(clamping: replicas), &text,
          text.count)
      else {
        throw KafkaError(
          code: .configuration, message: "topic \(topic.name) cannot be created; see the cause",
          cause: String(nulTerminated: text))
      }
      wanted.append(new)
    }
    let queue = rd_kafka_queue_new(handle)
    defer { rd_kafka_queue_destroy(queue) }
    rd_kafka_CreateTopics(handle, &wanted, wanted.count, nil, queue)
    guard let event = rd_kafka_queue_poll(queue, Int32(clamping: timeout.wholeMilliseconds))
    else { throw explain(KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT, doing: "creating topics")) }
    defer { rd_kafka_event_destroy(event) }
    let error = rd_kafka_event_error(event)
    guard error == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw explain(KafkaError(error, doing: "creating topics"))
    }
    var count = 0
    let results = rd_kafka_CreateTopics_result_topics(
      rd_kafka_event_CreateTopics_result(event), &count)
    return (0..<count).compactMap { index in
      guard let result = results?[index] else { return nil }
      return (
        String(cString: rd_kafka_topic_result_name(result)), rd_kafka_topic_result_error(result),
        rd_kafka_topic_result_error_string(result).map { String(cString: $0) } ?? ""
      )
    }
  }

  /// The client's own report is closer to the truth than the time-out that followed from it.
  private func explain(_ error: KafkaError) -> KafkaError {
    rd_kafka_poll(handle, 0)
    return state.errors.first { $0.code != .unreachable && $0.code != .timedOut }
      ?? state.errors.first ?? error
  }
}

/// What the callbacks of an `AdminClient` find. `errors` is touched inside `rd_kafka_poll` only.
private final class AdminState: CallbackState {
  var errors: [KafkaError] = []
  var isRefused: Bool { errors.contains { $0.code == .authentication } }

  override func failed(_ error: KafkaError, _ code: rd_kafka_resp_err_t) { errors.append(error) }
}
