import CRdKafka

/// librdkafka's list of partitions with an offset and an error each.
struct PartitionList: ~Copyable {
  let handle: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

  init(_ partitions: some Collection<KafkaPartition>) {
    handle = rd_kafka_topic_partition_list_new(Int32(clamping: partitions.count))
    for partition in partitions {
      rd_kafka_topic_partition_list_add(handle, partition.topic, partition.partition)
    }
  }

  init(_ offsets: [KafkaPartition: Int64]) {
    handle = rd_kafka_topic_partition_list_new(Int32(clamping: offsets.count))
    for (partition, offset) in offsets {
      let element = rd_kafka_topic_partition_list_add(handle, partition.topic, partition.partition)
      element?.pointee.offset = offset
    }
  }

  init(topics: [String]) {
    handle = rd_kafka_topic_partition_list_new(Int32(clamping: topics.count))
    for topic in topics { rd_kafka_topic_partition_list_add(handle, topic, -1) }
  }

  deinit { rd_kafka_topic_partition_list_destroy(handle) }
}

extension KafkaPartition {
  /// The offset of the first record that is kept, as the last answer with records said; nil while
  /// there was none. Asks nobody.
  func knownFirst(by client: OpaquePointer) -> Int64? {
    var first: Int64 = 0
    var end: Int64 = 0
    let error = rd_kafka_get_watermark_offsets(client, topic, partition, &first, &end)
    return error == RD_KAFKA_RESP_ERR_NO_ERROR && first >= 0 ? first : nil
  }

  /// The offset of the first record that is kept, and of the next that will be written. Asks the
  /// brokers: blocks for at most `timeout`.
  func bounds(
    by client: OpaquePointer, timeout: Duration
  ) throws(KafkaError) -> (first: Int64, end: Int64) {
    var first: Int64 = 0
    var end: Int64 = 0
    let error = rd_kafka_query_watermark_offsets(
      client, topic, partition, &first, &end, Int32(clamping: timeout.wholeMilliseconds))
    guard error == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw KafkaError(error, doing: "looking at topic \(topic)")
    }
    return (first, end)
  }
}

/// An entry of librdkafka's list of partitions.
struct PartitionEntry {
  let partition: KafkaPartition
  let offset: Int64
  let error: rd_kafka_resp_err_t

  static func all(in list: UnsafePointer<rd_kafka_topic_partition_list_t>?) -> [PartitionEntry] {
    guard let list, let elements = list.pointee.elems else { return [] }
    return (0..<Int(list.pointee.cnt)).compactMap { index in
      let element = elements[index]
      guard let topic = element.topic else { return nil }
      return PartitionEntry(
        partition: KafkaPartition(topic: String(cString: topic), partition: element.partition),
        offset: element.offset, error: element.err)
    }
  }
}

extension PartitionEntry {
  /// The result of a commit. `overall` stands for entries without an error of their own.
  static func outcome(
    ofCommit entries: [PartitionEntry], overall: rd_kafka_resp_err_t
  ) -> (committed: [KafkaPartition: Int64], failed: [KafkaPartition: Int64], error: KafkaError?) {
    var committed: [KafkaPartition: Int64] = [:]
    var failed: [KafkaPartition: Int64] = [:]
    var firstError: rd_kafka_resp_err_t?
    for entry in entries {
      let error = entry.error == RD_KAFKA_RESP_ERR_NO_ERROR ? overall : entry.error
      if error == RD_KAFKA_RESP_ERR_NO_ERROR {
        committed[entry.partition] = entry.offset
      } else {
        failed[entry.partition] = entry.offset
        firstError = firstError ?? error
      }
    }
    return (committed, failed, firstError.map { KafkaError($0, doing: "committing offsets") })
  }
}
