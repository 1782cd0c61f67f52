import CRdKafka
import Threads

/// Writes records; a record is written once and acknowledged by all replicas in sync before
/// `send` returns.
///
/// `@unchecked Sendable`: the client handle is librdkafka's, which is safe from any thread; it is
/// destroyed only by `close`, after `isOpen` has shut everybody out. The rest is immutable or
/// behind locks.
package final class KafkaProducer: @unchecked Sendable {
  private let client: OpaquePointer
  private let thread: PollThread
  private let gate: SendGate
  private let state: ProducerState
  private let watchesBrokers: Bool
  /// Held while a record is handed to the client, so that the client is there.
  private let isOpen = ThreadLock(true)
  /// Handles that keep the topics' metadata fresh.
  private let topics = ThreadLock<[TopicHandle]>([])

  /// - Parameter log: takes librdkafka's log lines and the client's errors, from any thread.
  package init(_ options: KafkaOptions, log: @escaping KafkaLog) throws(KafkaError) {
    watchesBrokers = options.producersWatchBrokers
    var configuration = try KafkaConfiguration(options)
    try configuration.setProducer(options)
    let state = ProducerState(log: log)
    client = try configuration.makeClient(RD_KAFKA_PRODUCER, state)
    thread = PollThread(client)
    gate = SendGate(
      maximumSenders: max(options.maximumInFlight, 1),
      maximumBytes: options.maximumSendingBytes)
    self.state = state
    do {
      try thread.start()
    } catch {
      isOpen.withLock { $0 = false }
      rd_kafka_destroy(client)
      state.release()
      throw error
    }
  }

  deinit { close(timeout: .zero) }

  /// Why this producer can write nothing any more, if so: close it and make another.
  package var fatalError: KafkaError? { state.fatalError.withLock { $0 } }

  /// Whether a broker answers; nil before that is known, and where nobody looks
  /// (`KafkaOptions.producersWatchBrokers`).
  package var isReachable: Bool? {
    watchesBrokers ? state.isReachable.withLock { $0 } : nil
  }

  /// Learns where these topics are, which `send` otherwise does at its first record for each, up
  /// to a second late. Returns at once when `timeout` is zero, and learns meanwhile; otherwise
  /// blocks until it knows and throws when it does not within the time. Brokers that create
  /// topics on first use create them now.
  /// - Parameter spread: those of them in which keys that differ in a number at their end alone go
  ///   to the partitions by turns.
  package func prepare(
    topics names: [String], spread: Set<String> = [], timeout: Duration
  ) throws(KafkaError) {
    for name in names {
      let handle: TopicHandle? = isOpen.withLock { isOpen in
        guard isOpen else { return nil }
        return TopicHandle(client, name, isSpread: spread.contains(name))
      }
      guard let handle else { throw Self.closed }
      topics.withLock { $0.append(handle) }
      guard timeout > .zero else { continue }
      var metadata: UnsafePointer<rd_kafka_metadata>?
      let error = rd_kafka_metadata(
        client, 0, handle.pointer, &metadata, Int32(clamping: timeout.wholeMilliseconds))
      rd_kafka_metadata_destroy(metadata)
      guard error == RD_KAFKA_RESP_ERR_NO_ERROR else {
        throw KafkaError(error, doing: "looking for topic \(name)")
      }
    }
  }

  /// Writes one record and returns when the brokers have it. When `maximumInFlight` records are
  /// on their way it waits for room first; the delivery itself takes at most `messageTimeout`, so
  /// that every wait ends. Not cancellable. After an error the record may have been written all
  /// the same.
  ///
  /// - Parameter partition: nil: by the hash of the key, or any when there is no key.
  package func send(
    topic: String, partition: Int32? = nil, key: [UInt8]?, value: [UInt8]?,
    headers: [KafkaHeader] = []
  ) async throws(KafkaError) -> KafkaDelivery {
    let record = OutgoingRecord(
      topic: topic, partition: partition, key: key, value: value, headers: headers)
    guard await gate.enter(bytes: record.bytes) else { throw Self.closed }
    defer { gate.leave(bytes: record.bytes) }
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<KafkaDelivery, KafkaError>, Never>) in
      produce(record, continuation)
    }
    return try result.get()
  }

  /// Waits for what is on its way, at most `timeout`, fails the rest and everything sent later,
  /// and frees all. Blocks. Once only; further calls do nothing.
  package func close(timeout: Duration) {
    let wasOpen = isOpen.withLock { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    guard wasOpen else { return }
    gate.close()
    rd_kafka_flush(client, Int32(clamping: timeout.wholeMilliseconds))
    rd_kafka_purge(client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
    // Serves the reports of what was purged; nobody waits for a broker now.
    rd_kafka_flush(client, 5000)
    thread.stop()
    for topic in topics.withLock({ $0 }) { rd_kafka_topic_destroy(topic.pointer) }
    rd_kafka_destroy(client)
    state.release()
  }

  private func produce(
    _ record: OutgoingRecord,
    _ continuation: CheckedContinuation<Result<KafkaDelivery, KafkaError>, Never>
  ) {
    // Released by the delivery report (`deliveryReport`), or below when there will be none.
    let pending = Unmanaged.passRetained(PendingDelivery(record.topic, continuation))
    let error: KafkaError? = isOpen.withLock { isOpen in
      guard isOpen else { return Self.closed }
      let code = record.produce(client, opaque: pending.toOpaque())
      guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
      return KafkaError(code, doing: "sending to \(record.topic)")
    }
    guard let error else { return }
    pending.release()
    continuation.resume(returning: .failure(error))
  }

  private static let closed = KafkaError(
    code: .closed, message: "sending: the producer is closed")
}

/// `@unchecked Sendable`: librdkafka guards its topics; `close` destroys the handle, once.
private struct TopicHandle: @unchecked Sendable {
  let pointer: OpaquePointer

  /// Nil when the client has no memory for it.
  init?(_ client: OpaquePointer, _ name: String, isSpread: Bool) {
    var configuration: OpaquePointer?
    if isSpread {
      configuration = rd_kafka_default_topic_conf_dup(client)
      TurnPartitioner.install(in: configuration)
    }
    // It takes the configuration over.
    guard let pointer = rd_kafka_topic_new(client, name, configuration) else { return nil }
    self.pointer = pointer
  }
}

/// What the producer's callbacks find: on the thread that polls it, and on librdkafka's.
final class ProducerState: CallbackState {
  let fatalError = ThreadLock<KafkaError?>(nil)
  let isReachable = ThreadLock<Bool?>(nil)

  override func failed(_ error: KafkaError, _ code: rd_kafka_resp_err_t) {
    if error.isFatal { fatalError.withLock { $0 = $0 ?? error } }
    if code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN { isReachable.withLock { $0 = false } }
    log(KafkaLogLine(level: .error, facility: "ERROR", message: error.description))
  }

  override func setCallbacks(_ handle: OpaquePointer?) {
    super.setCallbacks(handle)
    rd_kafka_conf_set_dr_msg_cb(handle) { _, message, _ in deliveryReport(message) }
    rd_kafka_conf_set_stats_cb(handle) { _, statistics, _, opaque in
      if let statistics, let anyAnswers = BrokerStates.anyAnswers(statistics) {
        ProducerState.find(opaque)?.isReachable.withLock { $0 = anyAnswers }
      }
      // The text is librdkafka's to free.
      return 0
    }
  }
}

/// The sender who waits for one record's delivery report.
private final class PendingDelivery {
  let topic: String
  let continuation: CheckedContinuation<Result<KafkaDelivery, KafkaError>, Never>

  init(
    _ topic: String,
    _ continuation: CheckedContinuation<Result<KafkaDelivery, KafkaError>, Never>
  ) {
    self.topic = topic
    self.continuation = continuation
  }
}

private func deliveryReport(_ message: UnsafePointer<rd_kafka_message_t>?) {
  guard let message, let opaque = message.pointee._private else { return }
  // Balances passRetained in `produce`: there is one report for each record taken.
  let pending = Unmanaged<PendingDelivery>.fromOpaque(opaque).takeRetainedValue()
  let error = message.pointee.err
  pending.continuation.resume(
    returning: error == RD_KAFKA_RESP_ERR_NO_ERROR
      ? .success(
        KafkaDelivery(partition: message.pointee.partition, offset: message.pointee.offset))
      : .failure(KafkaError(error, doing: "sending to \(pending.topic)")))
}
