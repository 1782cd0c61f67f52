import CRdKafka

/// Reads chosen records of one topic without a consumer group: it commits nothing, disturbs no
/// member, and needs the right to read the topic alone. Confined to one thread, which it blocks.
package final class KafkaReader {
  private let client: AdminClient
  private let topic: String
  /// Made at the first read: librdkafka asks for topics that it has a handle of, and a broker may
  /// create one that is asked for.
  private var handle: OpaquePointer?

  /// - Parameter log: takes librdkafka's log lines, from any thread.
  package init(
    _ options: KafkaOptions, topic: String, log: @escaping KafkaLog
  ) throws(KafkaError) {
    var configuration = try KafkaConfiguration(options)
    try configuration.setReader(options)
    client = try AdminClient(configuration, RD_KAFKA_CONSUMER, log: log)
    self.topic = topic
  }

  deinit { if let handle { rd_kafka_topic_destroy(handle) } }

  /// The offsets that each partition holds now, from the first that is kept up to the next that
  /// will be written. Blocks for at most `timeout` a question: one, and one for each partition.
  package func bounds(timeout: Duration) throws(KafkaError) -> [Int32: Range<Int64>] {
    let topics = try client.metadata(timeout: timeout).topics
    guard let known = topics.first(where: { $0.name == topic }) else {
      throw KafkaError(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, doing: "looking at topic \(topic)")
    }
    guard known.error == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw KafkaError(known.error, doing: "looking at topic \(topic)")
    }
    var bounds: [Int32: Range<Int64>] = [:]
    for partition in 0..<Int32(clamping: known.partitions) {
      do {
        let (first, end) = try KafkaPartition(topic: topic, partition: partition)
          .bounds(by: client.handle, timeout: timeout)
        bounds[partition] = first..<max(first, end)
      } catch {
        throw client.explain(error)
      }
    }
    return bounds
  }

  /// Reads the records of a partition whose offsets are in the range, in their order. Offsets
  /// without a record, and those that Kafka has thrown away, are passed over.
  ///
  /// - Parameters:
  ///   - deadline: reading ends there, by the continuous clock.
  ///   - take: gets each record; false ends the reading.
  /// - Returns: whether all of the range was read.
  package func read(
    _ partition: Int32, _ offsets: Range<Int64>, until deadline: ContinuousClock.Instant,
    take: (KafkaMessage) -> Bool
  ) throws(KafkaError) -> Bool {
    guard !offsets.isEmpty else { return true }
    let doing = "reading \(topic)/\(partition)"
    let handle = try topicHandle()
    guard rd_kafka_consume_start(handle, partition, offsets.lowerBound) == 0 else {
      throw KafkaError(rd_kafka_last_error(), doing: doing)
    }
    defer { rd_kafka_consume_stop(handle, partition) }
    while true {
      let wait = min(deadline - .now, Self.longestWait)
      guard wait > .zero else { return false }
      guard let message = rd_kafka_consume(handle, partition, Int32(wait.wholeMilliseconds)) else {
        continue
      }
      defer { rd_kafka_message_destroy(message) }
      switch message.pointee.err {
      case RD_KAFKA_RESP_ERR_NO_ERROR:
        let offset = message.pointee.offset
        guard offset < offsets.upperBound else { return true }
        if offset >= offsets.lowerBound, !take(KafkaMessage(message)) { return false }
        if offset == offsets.upperBound - 1 { return true }
      case RD_KAFKA_RESP_ERR__PARTITION_EOF: return true
      case let code:
        let detail = rd_kafka_message_errstr(message).map { String(cString: $0) } ?? ""
        let error = KafkaError(code, doing: doing, detail: detail)
        // A broker that is away may be back before the deadline.
        guard error.code == .unreachable || error.code == .timedOut else {
          throw client.explain(error)
        }
      }
    }
  }

  private func topicHandle() throws(KafkaError) -> OpaquePointer {
    if let handle { return handle }
    guard let made = rd_kafka_topic_new(client.handle, topic, nil) else {
      throw KafkaError(
        code: .configuration, message: "the topic \(topic) cannot be read; correct its name")
    }
    handle = made
    return made
  }

  /// Between two looks at the deadline.
  private static let longestWait: Duration = .milliseconds(200)
}

extension KafkaConfiguration {
  /// No group is named: librdkafka asks for none, and joins none.
  fileprivate mutating func setReader(_ options: KafkaOptions) throws(KafkaError) {
    try set("enable.auto.commit", "false")
    try set("auto.offset.reset", "earliest")
    try set("enable.partition.eof", "true")
    try set("allow.auto.create.topics", "false")
    try set("fetch.wait.max.ms", "\(options.fetchWaitMaximum.wholeMilliseconds)")
    // Records read ahead of a range that ends are thrown away.
    try set("queued.min.messages", "1000")
    try set("queued.max.messages.kbytes", "8192")
    try set("fetch.max.bytes", "4194304")
    try setAll(options.properties)
  }
}
