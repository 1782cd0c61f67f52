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

  /// Why the last record was not taken, and when; nil when it was.
  private var failure: (error: KafkaError, at: UInt64)?
  /// For so long nobody need try it again to know.
  private static let failureCounts: Duration = .seconds(30)

  /// Readiness reports an outage of Kafka, and its end, within this time.
  private static let reachabilityInterval: Duration = .seconds(1)
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

  /// Closes the producer. Later sends are refused.
  func close() {
    isClosed = true
    producer?.close(timeout: .seconds(1))
    producer = nil
  }

  /// Returns when every replica in sync has it (`acks=all`).
  /// - Parameter other: a topic to write to instead of the writer's own.
  func send(
    to other: String? = nil, key: [UInt8]?, _ value: [UInt8]?, _ headers: [KafkaHeader] = []
  ) async throws(KafkaError) -> KafkaDelivery {
    do throws(KafkaError) {
      let delivery = try await currentProducer().send(
        topic: other ?? topic, key: key, value: value, headers: headers)
      failure = nil
      return delivery
    } catch {
      // A record that is too large says nothing of Kafka.
      if error.code != .tooLarge, error.code != .closed { failure = (error, loop.now) }
      throw error
    }
  }

  /// Why records would not be taken now, in words; nil when nothing is known to be in the way.
  var trouble: String? {
    do throws(KafkaError) {
      switch try currentProducer().isReachable {
      case false?: return "no broker can be reached"
      case nil: return "no broker has answered yet"
      case true?: break
      }
    } catch {
      return "\(error)"
    }
    guard let failure, loop.now &- failure.at < Self.failureCounts.nanoseconds else { return nil }
    return "\(topic) takes nothing: \(failure.error)"
  }

  private func currentProducer() throws(KafkaError) -> KafkaProducer {
    guard !isClosed else { throw KafkaError(code: .closed, message: "the API stops") }
    if let producer, producer.fatalError == nil { return producer }
    producer?.close(timeout: .zero)
    var kafka = options.kafka
    kafka.messageTimeout = Self.acknowledgedWithin
    kafka.linger = .zero
    kafka.producersWatchBrokers = true
    kafka.reachabilityInterval = Self.reachabilityInterval
    let log = options.log
    let made = try KafkaProducer(kafka) { line in
      log.log(line.level == .error ? .warning : .debug, "librdkafka: \(line.message)")
    }
    try? made.prepare(topics: [topic], timeout: .zero)
    producer = made
    return made
  }
}
