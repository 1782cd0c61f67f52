import CRdKafka

// MARK: - Topics. Real brokers only: the embedded one takes no admin requests (`unsupported`), and
// its topics are made by `EmbeddedBroker`.

extension KafkaAdmin {
  /// Creates the topics that are missing, and says of each what came of it; those that exist are
  /// left as they are. Throws what concerns all of them. Blocks for at most `timeout`.
  package func create(
    _ topics: [KafkaTopic], timeout: Duration
  ) throws(KafkaError) -> [(name: String, KafkaTopicCreation)] {
    var text = [CChar](repeating: 0, count: 256)
    var wanted: [OpaquePointer?] = []
    defer { for topic in wanted { rd_kafka_NewTopic_destroy(topic) } }
    for topic in topics {
      guard
        let new = rd_kafka_NewTopic_new(
          topic.name, Int32(clamping: topic.partitions), Int32(clamping: topic.replicas), &text,
          text.count)
      else {
        throw KafkaError(
          code: .configuration, message: "topic \(topic.name) cannot be created; see the cause",
          cause: String(nulTerminated: text))
      }
      wanted.append(new)
      for (name, value) in topic.configuration.sorted(by: { $0.key < $1.key }) {
        let error = rd_kafka_NewTopic_set_config(new, name, value)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR else {
          throw KafkaError(error, doing: "setting \(name) of the topic \(topic.name)")
        }
      }
    }
    let client = try AdminClient(self)
    return try client.ask("creating topics", timeout) { queue in
      rd_kafka_CreateTopics(client.handle, &wanted, wanted.count, nil, queue)
    } read: { event in
      var count = 0
      let results = rd_kafka_CreateTopics_result_topics(
        rd_kafka_event_CreateTopics_result(event), &count)
      return (0..<count).compactMap { index in
        guard let result = results?[index], let name = rd_kafka_topic_result_name(result) else {
          return nil
        }
        return (String(cString: name), Self.creation(result, named: String(cString: name)))
      }
    }
  }

  private static func creation(_ result: OpaquePointer, named name: String) -> KafkaTopicCreation {
    switch rd_kafka_topic_result_error(result) {
    case RD_KAFKA_RESP_ERR_NO_ERROR: return .created
    case RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS: return .existed
    case let error:
      let text = rd_kafka_topic_result_error_string(result).map { String(cString: $0) } ?? ""
      return .failed(KafkaError(error, doing: "creating the topic \(name)", detail: text))
    }
  }

  /// How topics are configured, by Kafka's own names of the properties, defaults of the brokers
  /// among them. A topic that does not exist, or that may not be looked at, is not in it:
  /// `failures` say why. Blocks for at most `timeout`.
  package func configuration(
    ofTopics names: [String], timeout: Duration
  ) throws(KafkaError) -> (known: [String: [String: String]], failures: [String: KafkaError]) {
    guard !names.isEmpty else { return ([:], [:]) }
    var asked: [OpaquePointer?] = names.map {
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0)
    }
    defer { for resource in asked { rd_kafka_ConfigResource_destroy(resource) } }
    let client = try AdminClient(self)
    return try client.ask("looking at the configuration of topics", timeout) { queue in
      rd_kafka_DescribeConfigs(client.handle, &asked, asked.count, nil, queue)
    } read: { event in
      var known: [String: [String: String]] = [:]
      var failures: [String: KafkaError] = [:]
      var count = 0
      let resources = rd_kafka_DescribeConfigs_result_resources(
        rd_kafka_event_DescribeConfigs_result(event), &count)
      for index in 0..<count {
        guard let resource = resources?[index],
          let name = rd_kafka_ConfigResource_name(resource).map({ String(cString: $0) })
        else { continue }
        let error = rd_kafka_ConfigResource_error(resource)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR else {
          failures[name] = KafkaError(
            error, doing: "looking at the configuration of the topic \(name)")
          continue
        }
        known[name] = Self.entries(of: resource)
      }
      return (known, failures)
    }
  }

  private static func entries(of resource: OpaquePointer) -> [String: String] {
    var count = 0
    let entries = rd_kafka_ConfigResource_configs(resource, &count)
    var values: [String: String] = [:]
    for index in 0..<count {
      guard let entry = entries?[index], let name = rd_kafka_ConfigEntry_name(entry),
        let value = rd_kafka_ConfigEntry_value(entry)
      else { continue }
      values[String(cString: name)] = String(cString: value)
    }
    return values
  }

  /// Throws away what a partition holds below an offset, as retention does. Blocks for at most
  /// `timeout`.
  package func deleteRecords(
    before offset: Int64, of partition: KafkaPartition, timeout: Duration
  ) throws(KafkaError) {
    let doing = "deleting records of \(partition)"
    let offsets = PartitionList([partition: offset])
    var wanted: [OpaquePointer?] = [rd_kafka_DeleteRecords_new(offsets.handle)]
    defer { for one in wanted { rd_kafka_DeleteRecords_destroy(one) } }
    let client = try AdminClient(self)
    let error = try client.ask(doing, timeout) { queue in
      rd_kafka_DeleteRecords(client.handle, &wanted, wanted.count, nil, queue)
    } read: { event in
      let result = rd_kafka_event_DeleteRecords_result(event)
      return rd_kafka_DeleteRecords_result_offsets(result)?.pointee.elems[0].err
    }
    if let error, error != RD_KAFKA_RESP_ERR_NO_ERROR { throw KafkaError(error, doing: doing) }
  }
}

extension AdminClient {
  /// librdkafka's mock cluster names a controller that it does not have, and the client would wait
  /// for that until its time is over.
  func refuseEmbeddedBroker(_ doing: String, _ timeout: Duration) throws(KafkaError) {
    _ = try metadata(ofAllTopics: false, timeout: timeout)
    guard let name = rd_kafka_clusterid(handle, 0) else { return }
    defer { rd_kafka_mem_free(handle, name) }
    guard String(cString: name).hasPrefix("mockCluster") else { return }
    throw KafkaError(
      code: .unsupported,
      message: "\(doing): the embedded broker takes no such request; its topics are those of "
        + "fanfare broker --topics")
  }

  /// Sends a request whose answer comes to a queue of its own, and reads the answer.
  fileprivate func ask<T>(
    _ doing: String, _ timeout: Duration, send: (OpaquePointer?) -> Void,
    read: (OpaquePointer) -> T
  ) throws(KafkaError) -> T {
    let deadline = ContinuousClock.now + timeout
    try refuseEmbeddedBroker(doing, timeout)
    let queue = rd_kafka_queue_new(handle)
    defer { rd_kafka_queue_destroy(queue) }
    send(queue)
    let rest = max(deadline - .now, .zero)
    guard let event = rd_kafka_queue_poll(queue, Int32(clamping: rest.wholeMilliseconds)) else {
      throw explain(
        KafkaError(
          code: .timedOut,
          message:
            "\(doing): a broker answers, but not this in time: has the cluster a controller?",
          cause: String(cString: rd_kafka_err2name(RD_KAFKA_RESP_ERR__TIMED_OUT))))
    }
    defer { rd_kafka_event_destroy(event) }
    let error = rd_kafka_event_error(event)
    guard error == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw explain(KafkaError(error, doing: doing))
    }
    return read(event)
  }
}

/// A topic as it is to be made.
package struct KafkaTopic: Sendable, Equatable {
  package let name: String
  package let partitions: Int
  /// Brokers that have each partition.
  package let replicas: Int
  /// By Kafka's own names, such as `retention.ms`; what is not named is the brokers' default.
  package let configuration: [String: String]

  package init(
    _ name: String, partitions: Int, replicas: Int, configuration: [String: String] = [:]
  ) {
    self.name = name
    self.partitions = partitions
    self.replicas = replicas
    self.configuration = configuration
  }
}

/// The outcome of a request to create a topic.
package enum KafkaTopicCreation: Sendable, Equatable {
  case created
  /// It was left as it is.
  case existed
  case failed(KafkaError)
}

/// How a topic treats records that are old.
package struct TopicPolicy: Sendable, Equatable {
  /// Of two records with one key the earlier one may be thrown away.
  package var isCompacted: Bool
  /// For how long a record is kept; nil: for ever.
  package var retention: Duration?
  /// Bytes of a partition that are kept, whatever their age; nil: all of them.
  package var retentionBytes: Int64?

  package init(isCompacted: Bool, retention: Duration?, retentionBytes: Int64?) {
    self.isCompacted = isCompacted
    self.retention = retention
    self.retentionBytes = retentionBytes
  }

  /// By the names and values of a topic's configuration. A topic that is only compacted throws
  /// nothing away for its age.
  package init(_ entries: [String: String]) {
    let policies = (entries["cleanup.policy"] ?? "delete").split(separator: ",")
    let deletes = policies.contains("delete")
    func limit(_ name: String) -> Int64? {
      entries[name].flatMap { Int64($0) }.flatMap { deletes && $0 >= 0 ? $0 : nil }
    }
    self.init(
      isCompacted: policies.contains("compact"),
      retention: limit("retention.ms").map { .milliseconds($0) },
      retentionBytes: limit("retention.bytes"))
  }
}

extension KafkaAdmin {
  /// Reads how each of these topics treats old records, or why that is unknown: it takes the right
  /// DescribeConfigs. Blocks for at most `timeout`.
  package func policies(
    of topics: [String], timeout: Duration
  ) throws(KafkaError) -> [String: Result<TopicPolicy, KafkaError>] {
    let (known, failures) = try configuration(ofTopics: topics, timeout: timeout)
    return known.mapValues { .success(TopicPolicy($0)) }
      .merging(failures.mapValues { .failure($0) }) { known, _ in known }
  }
}
