import Kafka

/// Writes records to a `MemoryBroker`: it says and does what `KafkaProducer` does on librdkafka. A
/// record is written once, however often it is sent, and records of one sender keep their order.
///
/// `@unchecked Sendable`: confined to the thread that runs the world, on which `send` is called,
/// too.
package final class MemoryProducer: RecordProducer, @unchecked Sendable {
  private typealias Answer = Result<KafkaDelivery, KafkaError>

  /// A record that is not acknowledged yet.
  private final class Sending {
    let record: MemoryRecord
    let topic: String
    var partition: Int32?
    let deadline: UInt64
    var continuation: UnsafeContinuation<Answer, Never>?
    /// It is on its way, or waits for its topic.
    var isSent = false
    /// The broker has it, though the sender may not know.
    var written: KafkaDelivery?

    init(
      _ record: MemoryRecord, _ topic: String, _ partition: Int32?, deadline: UInt64,
      _ continuation: UnsafeContinuation<Answer, Never>
    ) {
      self.record = record
      self.topic = topic
      self.partition = partition
      self.deadline = deadline
      self.continuation = continuation
    }
  }

  private enum Outcome {
    case written(KafkaDelivery)
    case failed(MemoryFailure)
    case topicIsMissing
  }

  /// How long a topic that nobody knows is waited for (topic.metadata.propagation.max.ms), and how
  /// often it is asked for.
  private static let missingTopicTimeout = Duration.seconds(30)
  private static let missingTopicInterval = Duration.seconds(1)
  private static let retryDelay = Duration.milliseconds(100)

  private let host: MemoryHost
  private let options: KafkaOptions
  private let link: MemoryLink
  private let gate: SendGate
  private var isClosed = false
  private var isConnected = false
  private var hasTimer = false
  private var spread: Set<String> = []
  /// In the order in which they were sent.
  private var waiting: [Sending] = []
  private var missingSince: [String: UInt64] = [:]
  /// Topics that are asked for again soon: what is sent to them waits.
  private var parkedTopics: Set<String> = []
  /// At the broker: what follows a record that was refused for the moment is refused, too, until
  /// all are sent again. So the order is kept.
  private var refuses = false
  private var isBackingOff = false
  package private(set) var fatalError: KafkaError?

  private var broker: MemoryBroker { host.broker }
  private var now: UInt64 { broker.time.now() }

  init(_ host: MemoryHost, _ options: KafkaOptions) {
    self.host = host
    self.options = options
    link = MemoryLink(host)
    gate = SendGate(
      maximumSenders: max(options.maximumInFlight, 1), maximumBytes: options.maximumSendingBytes)
  }

  package func prepare(
    topics names: [String], spread: Set<String>, timeout: Duration
  ) throws(KafkaError) {
    guard !isClosed else { throw Self.closed }
    self.spread.formUnion(spread.intersection(names))
    for name in names {
      if isConnected { _ = broker.partitionsOnUse(name) }
      guard isConnected || timeout <= .zero else {
        throw MemoryFailure.disconnect.error(doing: "looking for topic \(name)")
      }
    }
  }

  package func send(
    topic: String, partition: Int32?, key: [UInt8]?, value: [UInt8]?, headers: [KafkaHeader]
  ) async throws(KafkaError) -> KafkaDelivery {
    let bytes = headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) {
      $0 + $1.name.utf8.count + ($1.value?.count ?? 0)
    }
    guard await gate.enter(bytes: bytes) else { throw Self.closed }
    defer { gate.leave(bytes: bytes) }
    let answer = await withUnsafeContinuation { continuation in
      let wallClock = host.wallClock ?? broker.time.wallClock
      let record = MemoryRecord(
        key: key, value: value, headers: headers, timestamp: wallClock())
      let deadline = now &+ max(options.messageTimeout, .milliseconds(1)).wholeNanoseconds
      begin(
        Sending(record, topic, partition, deadline: deadline, continuation), bytes)
    }
    return try answer.get()
  }

  private func begin(_ sending: Sending, _ bytes: Int) {
    waiting.append(sending)
    if isClosed { return end(sending, .failure(Self.closed)) }
    if let fatalError { return end(sending, .failure(fatalError)) }
    guard bytes <= options.maximumMessageBytes else {
      return fail(sending, .messageTooLarge)
    }
    timeLater()
    if isConnected { transmit(sending) }
  }

  // MARK: to the broker and back

  private func transmit(_ sending: Sending) {
    guard !sending.isSent, !isBackingOff, !parkedTopics.contains(sending.topic) else { return }
    sending.isSent = true
    // Strong: what was sent is written, whatever becomes of the sender.
    link.ask(.produce) { (answer: (Outcome) -> Void) in
      answer(self.write(sending))
    } then: { [weak self] outcome in
      guard let self else { return }
      switch outcome {
      case .written(let delivery): end(sending, .success(delivery))
      case .failed(let failure) where failure.isTriedAgain: sendAgain()
      case .failed(let failure): fail(sending, failure)
      case .topicIsMissing: waitForTopic(sending)
      // The connection broke: it is sent again on the next one.
      case nil: sending.isSent = false
      }
    }
  }

  /// At the broker.
  private func write(_ sending: Sending) -> Outcome {
    if let written = sending.written { return .written(written) }
    if refuses { return .failed(.notLeader) }
    if parkedTopics.contains(sending.topic) { return .topicIsMissing }
    let failure = broker.takeFault(.produce, host, topic: sending.topic)
    if let failure, failure != .unanswered(isDone: true) {
      refuses = failure.isTriedAgain
      return .failed(failure)
    }
    guard let count = broker.partitionsOnUse(sending.topic) else {
      park(sending.topic)
      return .topicIsMissing
    }
    let partition = place(sending, among: count)
    let size = (sending.record.key?.count ?? 0) + (sending.record.value?.count ?? 0)
    guard size <= broker.options.maximumRecordBytes else { return .failed(.messageTooLarge) }
    let source = KafkaPartition(topic: sending.topic, partition: partition)
    guard let offset = broker.append(sending.record, to: source) else {
      return .failed(.unknownTopic)
    }
    let delivery = KafkaDelivery(partition: partition, offset: offset)
    sending.written = delivery
    return failure.map { .failed($0) } ?? .written(delivery)
  }

  private func place(_ sending: Sending, among count: Int) -> Int32 {
    if let partition = sending.partition { return partition }
    let partition = MemoryPartitioner.partition(
      key: sending.record.key, count: count, isSpread: spread.contains(sending.topic),
      random: broker.time.random)
    sending.partition = partition
    return partition
  }

  /// All that is under way: their order is kept.
  private func sendAgain() {
    link.disconnect()
    refuses = false
    for sending in waiting { sending.isSent = false }
    isBackingOff = true
    host.schedule(after: Self.retryDelay) { [weak self] in
      self?.isBackingOff = false
      self?.transmitAll()
    }
  }

  private func transmitAll() {
    guard isConnected else { return }
    for sending in waiting { transmit(sending) }
  }

  private func waitForTopic(_ sending: Sending) {
    sending.isSent = false
    let since = missingSince[sending.topic] ?? now
    missingSince[sending.topic] = since
    if now >= since &+ Self.missingTopicTimeout.wholeNanoseconds {
      fail(sending, .unknownTopic)
    } else if !parkedTopics.contains(sending.topic) {
      transmit(sending)
    }
  }

  private func park(_ topic: String) {
    parkedTopics.insert(topic)
    host.schedule(after: Self.missingTopicInterval) { [weak self] in
      guard let self else { return }
      parkedTopics.remove(topic)
      if isConnected { for sending in waiting where sending.topic == topic { transmit(sending) } }
    }
  }

  private func fail(_ sending: Sending, _ failure: MemoryFailure) {
    end(sending, .failure(failure.error(doing: "sending to \(sending.topic)")))
  }

  private func end(_ sending: Sending, _ answer: Answer) {
    guard let continuation = sending.continuation else { return }
    sending.continuation = nil
    if let index = waiting.firstIndex(where: { $0 === sending }) { waiting.remove(at: index) }
    if case .success = answer { missingSince[sending.topic] = nil }
    continuation.resume(returning: answer)
  }

  /// The deadlines are in order: one timer is enough.
  private func timeLater() {
    guard !hasTimer, let first = waiting.first else { return }
    hasTimer = true
    let left = first.deadline > now ? first.deadline - now : 0
    host.schedule(after: .nanoseconds(left)) { [weak self] in
      guard let self else { return }
      hasTimer = false
      for sending in waiting where sending.deadline <= now {
        let error = KafkaError(
          .timedOut, doing: "sending to \(sending.topic)", name: "_MSG_TIMED_OUT",
          text: "Local: Message timed out")
        end(sending, .failure(error))
      }
      timeLater()
    }
  }

  // MARK: the end

  /// What is on its way arrives, when Kafka is there; the rest fails.
  package func close(timeout: Duration) {
    guard !isClosed else { return }
    isClosed = true
    gate.close()
    if isConnected, timeout > .zero { link.finish() }
    for sending in waiting {
      end(
        sending,
        .failure(
          KafkaError(
            .closed, doing: "sending to \(sending.topic)", name: "_PURGE_INFLIGHT",
            text: "Local: Purged in flight")))
    }
    host.remove(self)
  }

  /// Makes the producer of no more use, as a broker that has lost its sequence numbers does.
  package func failForGood() {
    guard fatalError == nil else { return }
    let error = KafkaError(
      code: .fatal,
      message: "talking to Kafka: this client cannot go on; it must be replaced by a new one",
      cause: "OUT_OF_ORDER_SEQUENCE_NUMBER: Broker: Out of order sequence number")
    fatalError = error
    broker.say("\(host.name): its producer cannot go on")
    for sending in waiting { end(sending, .failure(error)) }
  }

  private static let closed = KafkaError(
    code: .closed, message: "sending: the producer is closed")
}

extension MemoryProducer: MemoryClient {
  var links: [MemoryLink] { [link] }

  func connectionLost() { isConnected = false }

  func connectionMade() {
    guard !isClosed, !isConnected else { return }
    isConnected = true
    transmitAll()
  }

  func abandon() {
    isClosed = true
    gate.close()
    for sending in waiting { end(sending, .failure(Self.closed)) }
  }
}
