import EventLoop
import Kafka

/// A way to Kafka for what the API writes, whichever of its threads does.
actor KafkaWriter {
  private let loop: EventLoop
  private let options: APIOptions
  private let topic: String
  /// nil until the first record, and after librdkafka has given one up.
  private var producer: KafkaProducer?
  private var isClosed = false

  /// A client waits for this, and its connection has `exchangeTimeout`.
  private static let acknowledgedWithin: Duration = .seconds(5)

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(_ options: APIOptions, topic: String, loop: EventLoop) {
    self.loop = loop
    self.options = options
    self.topic = topic
  }

  /// Connects, so that the first record does not wait for it.
  func start() { _ = try? currentProducer() }

  /// Who writes afterwards is refused.
  func close() {
    isClosed = true
    producer?.close(timeout: .seconds(1))
    producer = nil
  }

  /// Returns when every replica in sync has it (`acks=all`).
  func send(
    key: [UInt8], _ value: [UInt8], _ headers: [KafkaHeader] = []
  ) async throws(KafkaError) -> KafkaDelivery {
    try await currentProducer().send(topic: topic, key: key, value: value, headers: headers)
  }

  private func currentProducer() throws(KafkaError) -> KafkaProducer {
    guard !isClosed else { throw KafkaError(code: .closed, message: "the API stops") }
    if let producer, producer.fatalError == nil { return producer }
    producer?.close(timeout: .zero)
    var kafka = options.kafka
    kafka.messageTimeout = Self.acknowledgedWithin
    kafka.linger = .zero
    let log = options.log
    let made = try KafkaProducer(kafka) { line in
      log.log(line.level == .error ? .warning : .debug, "librdkafka: \(line.message)")
    }
    try? made.prepare(topics: [topic], timeout: .zero)
    producer = made
    return made
  }
}
