import CRdKafka

/// The state that the callbacks of every kind of client find through their opaque pointer. Each
/// kind adds its own.
class CallbackState {
  let log: KafkaLog

  init(log: @escaping KafkaLog) { self.log = log }

  /// An error of the client itself. Called inside the client's own calls and polls.
  func failed(_ error: KafkaError, _ code: rd_kafka_resp_err_t) {}

  /// From the opaque pointer that `setCallbacks` gave the client; nil for another kind.
  static func find(_ pointer: UnsafeMutableRawPointer?) -> Self? {
    pointer.flatMap { Unmanaged<CallbackState>.fromOpaque($0).takeUnretainedValue() as? Self }
  }

  /// For a client that was made: `KafkaConfiguration` calls it.
  func retain() { _ = Unmanaged.passRetained(self) }

  /// Once, when the client is destroyed, so that no callback can come any more.
  func release() { Unmanaged.passUnretained(self).release() }

  /// Adds the callbacks for log lines and errors. The state must outlive the client.
  func setCallbacks(_ handle: OpaquePointer?) {
    rd_kafka_conf_set_opaque(handle, Unmanaged.passUnretained(self).toOpaque())
    rd_kafka_conf_set_log_cb(handle) { client, level, facility, text in
      CallbackState.find(client.flatMap { rd_kafka_opaque($0) })?
        .log(KafkaLogLine(level, facility, text))
    }
    rd_kafka_conf_set_error_cb(handle) { client, error, reason, opaque in
      CallbackState.find(opaque)?.failed(
        KafkaError(client: client, error: error, reason: reason), rd_kafka_resp_err_t(error))
    }
  }
}
