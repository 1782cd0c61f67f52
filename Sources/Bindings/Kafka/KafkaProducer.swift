import CRdKafka
import Glibc
import Synchronization
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

  private static let closed = KafkaError(code: .closed, message: "sending: the producer is closed")
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

/// The state of the producer's callbacks: on the thread that polls it, and on librdkafka's.
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

/// The connections in librdkafka's statistics, a JSON text. Found by a few searches in it, whatever
/// its size.
enum BrokerStates {
  /// Metadata is asked for every 10 s, and a group hears from its coordinator more often: a broker
  /// that has said nothing for longer does not answer, though its connection still stands.
  static let longestSilence = 15_000_000

  /// Whether any broker is connected and answers; nil when none is known.
  static func anyAnswers(_ statistics: UnsafePointer<CChar>) -> Bool? {
    var isAnyKnown = false
    var rest = statistics
    while let state = value("\"state\":\"", in: rest) {
      isAnyKnown = true
      // `UP`, or `UPDATE` while it learns more of the broker.
      if strncmp(state, "UP", 2) == 0 {
        // Microseconds since anything came from it; -1 when nothing has yet.
        guard let idle = value("\"rxidle\":", in: state) else { return true }
        if strtol(idle, nil, 10) <= longestSilence { return true }
      }
      rest = state
    }
    return isAnyKnown ? false : nil
  }

  private static func value(
    _ name: String, in text: UnsafePointer<CChar>
  ) -> UnsafePointer<CChar>? {
    strstr(text, name).map { UnsafePointer($0) + name.utf8.count }
  }
}

/// Places records whose keys end in a dot and a number, such as `live-1/3.17`, in partitions by
/// turns: those that differ in the number alone are spread as evenly as can be, where hashes of
/// them would give one partition half as much again as another. All other keys are placed by their
/// hash, as Kafka's own clients do.
package enum TurnPartitioner {
  /// For a topic's configuration. May be called on any thread.
  static func install(in configuration: OpaquePointer?) {
    rd_kafka_topic_conf_set_partitioner_cb(configuration) {
      topic, key, length, count, topicOpaque, messageOpaque in
      let bytes = UnsafeRawBufferPointer(start: key, count: key == nil ? 0 : length)
      guard let numbered = TurnPartitioner.number(endingIn: bytes) else {
        return rd_kafka_msg_partitioner_murmur2_random(
          topic, key, length, count, topicOpaque, messageOpaque)
      }
      let first = rd_kafka_msg_partitioner_murmur2(
        topic, key, numbered.prefixLength, count, topicOpaque, messageOpaque)
      return Int32(truncatingIfNeeded: (Int(first) + numbered.number) % Int(max(count, 1)))
    }
  }

  /// Of at most nine digits.
  package static func number(
    endingIn key: UnsafeRawBufferPointer
  ) -> (number: Int, prefixLength: Int)? {
    guard let dot = key.lastIndex(of: UInt8(ascii: ".")), (1...9).contains(key.count - dot - 1)
    else { return nil }
    var number = 0
    for byte in key[(dot + 1)...] {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return (number, dot)
  }
}

/// Serves a client's callbacks from a thread of its own until told to stop.
///
/// `@unchecked Sendable`: the client handle is librdkafka's, which is safe from any thread; its
/// owner destroys it only after `stop` has joined the thread. The rest is atomic or immutable.
final class PollThread: @unchecked Sendable {
  private let client: OpaquePointer
  private let stopping = Atomic<Bool>(false)
  private let thread = ThreadLock<SystemThread?>(nil)

  init(_ client: OpaquePointer) { self.client = client }

  func start() throws(KafkaError) {
    guard let started = SystemThread({ self.run() }) else {
      throw KafkaError(
        code: .other, message: "no thread can be started for Kafka; raise the process limit")
    }
    thread.withLock { $0 = started }
  }

  /// Returns when the thread has ended, after a tenth of a second at most.
  func stop() {
    stopping.store(true, ordering: .releasing)
    let running = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    running?.join()
  }

  private func run() {
    while !stopping.load(ordering: .acquiring) { rd_kafka_poll(client, 100) }
  }
}

/// Lets senders in while both their number and the bytes of their records are within bounds; the
/// others wait in line, first come, first served. Nobody waits in librdkafka's own queue, which
/// would drop them. The line is as long as there are callers, each of which has bounds of its own
/// (windows of segments, lists of stragglers, requests to the API) and waits for its turn; every
/// record that is inside ends within `messageTimeout`, so the line moves.
package final class SendGate: Sendable {
  private struct State {
    var inside = 0
    var bytesInside = 0
    var isClosed = false
    var line: [(bytes: Int, continuation: CheckedContinuation<Bool, Never>)] = []
  }

  private let maximumSenders: Int
  private let maximumBytes: Int
  private let state = ThreadLock(State())

  package init(maximumSenders: Int, maximumBytes: Int) {
    self.maximumSenders = maximumSenders
    self.maximumBytes = maximumBytes
  }

  /// False when the gate is closed; otherwise the caller is inside until it calls `leave`.
  package func enter(bytes: Int) async -> Bool {
    await withCheckedContinuation { continuation in
      let answer: Bool? = state.withLock { state in
        if state.isClosed { return false }
        if state.line.isEmpty, hasRoom(state, for: bytes) {
          state.inside += 1
          state.bytesInside += bytes
          return true
        }
        state.line.append((bytes, continuation))
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  package func leave(bytes: Int) {
    let admitted = state.withLock { state in
      state.inside -= 1
      state.bytesInside -= bytes
      var admitted = 0
      while admitted < state.line.count, hasRoom(state, for: state.line[admitted].bytes) {
        state.inside += 1
        state.bytesInside += state.line[admitted].bytes
        admitted += 1
      }
      defer { state.line.removeFirst(admitted) }
      return state.line.prefix(admitted).map(\.continuation)
    }
    for continuation in admitted { continuation.resume(returning: true) }
  }

  /// Turns those in line away. Those inside stay until they leave.
  package func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      defer { state.line.removeAll() }
      return state.line.map(\.continuation)
    }
    for continuation in waiting { continuation.resume(returning: false) }
  }

  /// A record larger than the bound goes alone.
  private func hasRoom(_ state: borrowing State, for bytes: Int) -> Bool {
    state.inside == 0
      || (state.inside < maximumSenders && state.bytesInside + bytes <= maximumBytes)
  }
}

/// A record on its way to librdkafka's argument form.
struct OutgoingRecord {
  let topic: String
  /// Nil: the partitioner decides.
  let partition: Int32?
  let key: [UInt8]?
  let value: [UInt8]?
  let headers: [KafkaHeader]

  /// Its size in memory, roughly.
  var bytes: Int {
    headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) {
      $0 + $1.name.utf8.count + ($1.value?.count ?? 0)
    }
  }

  /// Enqueues a copy. Never blocks. When it fails, librdkafka has taken nothing.
  func produce(_ client: OpaquePointer, opaque: UnsafeMutableRawPointer) -> rd_kafka_resp_err_t {
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
