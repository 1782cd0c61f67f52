import Ingest
import Kafka

/// A way to Kafka for what the API writes. Confined to the loop.
final class KafkaWriter {
  private let options: APIOptions
  private let topic: String
  /// nil until the first record, and after librdkafka has given one up.
  private var producer: KafkaProducer?

  /// A client waits for this, and its connection has `exchangeTimeout`.
  private static let acknowledgedWithin: Duration = .seconds(5)

  init(_ options: APIOptions, topic: String) {
    self.options = options
    self.topic = topic
  }

  /// Connects, so that the first record does not wait for it.
  func start() { _ = try? currentProducer() }

  func close() {
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
