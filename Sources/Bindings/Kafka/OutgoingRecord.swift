import CRdKafka

/// A record on its way to librdkafka's argument form.
struct OutgoingRecord {
  let topic: String
  /// Nil: the partitioner decides.
  let partition: Int32?
  let key: [UInt8]?
  let value: [UInt8]?
  let headers: [KafkaHeader]

  /// What it holds in memory, roughly.
  var bytes: Int {
    headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) {
      $0 + $1.name.utf8.count + ($1.value?.count ?? 0)
    }
  }

  /// Enqueues a copy. Never blocks. When it fails, librdkafka has taken nothing.
  func produce(
    _ client: OpaquePointer, opaque: UnsafeMutableRawPointer
  ) -> rd_kafka_resp_err_t {
    guard let list = makeHeaders() else { return RD_KAFKA_RESP_ERR__INVALID_ARG }
    let code = topic.withCString { topicName in
      Self.withBytes(of: key) { key in
        Self.withBytes(of: value) { value in
          var arguments = [
            Self.argument(RD_KAFKA_VTYPE_TOPIC) { $0.u.cstr = topicName },
            Self.argument(RD_KAFKA_VTYPE_PARTITION) { $0.u.i32 = partition ?? -1 },
            Self.argument(RD_KAFKA_VTYPE_MSGFLAGS) { $0.u.i = RD_KAFKA_MSG_F_COPY },
            Self.argument(RD_KAFKA_VTYPE_KEY) { $0.set(key) },
            Self.argument(RD_KAFKA_VTYPE_VALUE) { $0.set(value) },
            Self.argument(RD_KAFKA_VTYPE_HEADERS) { $0.u.headers = list },
            Self.argument(RD_KAFKA_VTYPE_OPAQUE) { $0.u.ptr = opaque },
          ]
          guard let error = rd_kafka_produceva(client, &arguments, arguments.count) else {
            return RD_KAFKA_RESP_ERR_NO_ERROR
          }
          defer { rd_kafka_error_destroy(error) }
          return rd_kafka_error_code(error)
        }
      }
    }
    // The message owns the headers once it is taken.
    if code != RD_KAFKA_RESP_ERR_NO_ERROR { rd_kafka_headers_destroy(list) }
    return code
  }

  /// Nil when librdkafka refuses one of them.
  private func makeHeaders() -> OpaquePointer? {
    guard let list = rd_kafka_headers_new(headers.count) else { return nil }
    for header in headers {
      let error = Self.withBytes(of: header.value) { value in
        rd_kafka_header_add(list, header.name, -1, value.baseAddress, value.count)
      }
      guard error == RD_KAFKA_RESP_ERR_NO_ERROR else {
        rd_kafka_headers_destroy(list)
        return nil
      }
    }
    return list
  }

  private static func argument(
    _ type: rd_kafka_vtype_t, _ fill: (inout rd_kafka_vu_t) -> Void
  ) -> rd_kafka_vu_t {
    var argument = rd_kafka_vu_t()
    argument.vtype = type
    fill(&argument)
    return argument
  }

  /// Kafka tells null from empty by the pointer: nil lends no address, an empty array lends one.
  private static func withBytes<Result>(
    of bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    guard let bytes else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
    guard bytes.isEmpty else { return bytes.withUnsafeBytes(body) }
    return withUnsafeBytes(of: UInt8(0)) { one in
      body(UnsafeRawBufferPointer(start: one.baseAddress, count: 0))
    }
  }
}

extension rd_kafka_vu_t {
  fileprivate mutating func set(_ bytes: UnsafeRawBufferPointer) {
    u.mem.ptr = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
    u.mem.size = bytes.count
  }
}
