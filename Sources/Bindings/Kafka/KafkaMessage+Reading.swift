import CRdKafka

extension KafkaMessage {
  /// Copies a message out of librdkafka, which keeps what it owns.
  init(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
    let record = message.pointee
    var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
    let timestamp = rd_kafka_message_timestamp(message, &kind)
    self.init(
      topic: record.rkt.map { String(cString: rd_kafka_topic_name($0)) } ?? "",
      partition: record.partition, offset: record.offset,
      key: Self.bytes(record.key, record.key_len),
      value: Self.bytes(record.payload, record.len),
      timestamp: kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? 0 : timestamp,
      headers: Self.headers(of: message))
  }

  private static func headers(
    of message: UnsafeMutablePointer<rd_kafka_message_t>
  ) -> [KafkaHeader] {
    var list: OpaquePointer?
    guard rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR, let list
    else { return [] }
    var headers: [KafkaHeader] = []
    var name: UnsafePointer<CChar>?
    var value: UnsafeRawPointer?
    var count = 0
    while rd_kafka_header_get_all(list, headers.count, &name, &value, &count)
      == RD_KAFKA_RESP_ERR_NO_ERROR, let text = name
    {
      headers.append(KafkaHeader(name: String(cString: text), value: bytes(value, count)))
    }
    return headers
  }

  /// Nil for Kafka's null, which is not the same as nothing.
  private static func bytes(_ start: UnsafeRawPointer?, _ count: Int) -> [UInt8]? {
    start.map { Array(UnsafeRawBufferPointer(start: $0, count: count)) }
  }
}
