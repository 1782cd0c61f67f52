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
