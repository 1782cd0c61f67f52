import CRdKafka

/// What a topic does with records that are old.
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

  /// By the names and values of a topic's configuration. What is only compacted throws nothing away
  /// for its age.
  init(_ entries: [String: String]) {
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

extension AdminClient {
  /// What is known of each topic, or why nothing is. Blocks for at most `timeout`.
  func configurations(
    of topics: [String], timeout: Duration
  ) throws(KafkaError) -> [String: Result<[String: String], KafkaError>] {
    let doing = "asking for the retention of topics"
    var resources: [OpaquePointer?] = topics.map {
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0)
    }
    defer { for resource in resources { rd_kafka_ConfigResource_destroy(resource) } }
    let queue = rd_kafka_queue_new(handle)
    defer { rd_kafka_queue_destroy(queue) }
    rd_kafka_DescribeConfigs(handle, &resources, resources.count, nil, queue)
    guard let event = rd_kafka_queue_poll(queue, Int32(clamping: timeout.wholeMilliseconds))
    else { throw explain(KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT, doing: doing)) }
    defer { rd_kafka_event_destroy(event) }
    let error = rd_kafka_event_error(event)
    guard error == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw explain(KafkaError(error, doing: doing))
    }
    var count = 0
    let answers = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event), &count)
    var known: [String: Result<[String: String], KafkaError>] = [:]
    for index in 0..<count {
      guard let answer = answers?[index], let name = rd_kafka_ConfigResource_name(answer) else {
        continue
      }
      let refusal = rd_kafka_ConfigResource_error(answer)
      known[String(cString: name)] =
        refusal == RD_KAFKA_RESP_ERR_NO_ERROR
        ? .success(Self.entries(of: answer))
        : .failure(KafkaError(refusal, doing: doing))
    }
    return known
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
}

extension KafkaAdmin {
  /// What each of these topics does with old records, or why that is not known: it takes the right
  /// DescribeConfigs. Blocks for at most `timeout`.
  package func policies(
    of topics: [String], timeout: Duration
  ) throws(KafkaError) -> [String: Result<TopicPolicy, KafkaError>] {
    let client = try AdminClient(options, log: log)
    return try client.configurations(of: topics, timeout: timeout)
      .mapValues { $0.map { TopicPolicy($0) } }
  }
}
