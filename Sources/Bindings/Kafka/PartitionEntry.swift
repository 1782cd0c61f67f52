import CRdKafka

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
