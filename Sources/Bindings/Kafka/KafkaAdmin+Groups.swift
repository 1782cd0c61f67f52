import CRdKafka

// MARK: - The consumer group of the options. Nothing here joins it.

extension KafkaAdmin {
  /// The state and the members of the group. Real brokers only: the embedded one does not tell
  /// (`unsupported`). It takes the right Describe, or Read, on the group. Blocks for at most
  /// `timeout`.
  package func group(timeout: Duration) throws(KafkaError) -> KafkaGroup {
    let doing = "looking at the group \(options.group)"
    let client = try AdminClient(self)
    let deadline = ContinuousClock.now + timeout
    try client.refuseEmbeddedBroker(doing, timeout)
    var list: UnsafePointer<rd_kafka_group_list>?
    let rest = max(deadline - .now, .zero)
    let error = rd_kafka_list_groups(
      client.handle, options.group, &list, Int32(clamping: rest.wholeMilliseconds))
    defer { if let list { rd_kafka_group_list_destroy(list) } }
    guard error == RD_KAFKA_RESP_ERR_NO_ERROR, let list else {
      throw client.explain(KafkaError(error, doing: doing))
    }
    guard list.pointee.group_cnt > 0, let info = list.pointee.groups?[0] else {
      return KafkaGroup(state: "Dead", members: [])
    }
    guard info.err == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(info.err, doing: doing) }
    let members = (0..<Int(info.member_cnt)).compactMap { index -> String? in
      guard let member = info.members?[index] else { return nil }
      let name = member.client_id.map { String(cString: $0) } ?? ""
      return name + (member.client_host.map { String(cString: $0) } ?? "")
    }
    return KafkaGroup(
      state: info.state.map { String(cString: $0) } ?? "", members: members.sorted())
  }

  /// How many records of each topic the group has not committed as done. A partition without an
  /// offset of the group counts with all that it holds. It takes the right Describe, or Read, on
  /// the group and the topics. Blocks for at most `timeout`.
  /// - Parameter partitions: how many each topic has.
  package func lag(
    of partitions: [String: Int], timeout: Duration
  ) throws(KafkaError) -> [String: Int64] {
    var configuration = try KafkaConfiguration(options)
    try configuration.setConsumer(options)
    let client = try AdminClient(configuration, RD_KAFKA_CONSUMER, log: log)
    let deadline = ContinuousClock.now + timeout
    let all = partitions.sorted { $0.key < $1.key }.flatMap { topic, count in
      (0..<Int32(clamping: count)).map { KafkaPartition(topic: topic, partition: $0) }
    }
    let offsets = PartitionList(all)
    let error = rd_kafka_committed(
      client.handle, offsets.handle, Int32(clamping: timeout.wholeMilliseconds))
    guard error == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw client.explain(
        KafkaError(error, doing: "asking for the offsets of the group \(options.group)"))
    }
    var lag: [String: Int64] = [:]
    for (index, partition) in all.enumerated() {
      let rest = max(deadline - .now, .milliseconds(1))
      let bounds = try partition.bounds(by: client.handle, timeout: rest)
      // Negative: there is none.
      let committed = offsets.handle.pointee.elems[index].offset
      let next = committed < 0 ? bounds.first : max(committed, bounds.first)
      lag[partition.topic, default: 0] += max(0, bounds.end - next)
    }
    return lag
  }
}

/// A consumer group as its coordinator describes it.
package struct KafkaGroup: Sendable, Equatable {
  /// In Kafka's own words: `Stable`, `PreparingRebalance`, `CompletingRebalance`, `Empty`, `Dead`.
  package let state: String
  /// The client id and the address of each.
  package let members: [String]
}
