/// A member of a consumer group, as the pump needs one: `KafkaConsumer`, or one of a Kafka in
/// memory. `KafkaConsumer` documents each requirement. Confined to one thread.
package protocol GroupConsumer: AnyObject {
  var offsetsToCommitOnRevoke: (([KafkaPartition]) -> [KafkaPartition: Int64])? { get set }
  var asksBeforeRevoke: Bool { get set }
  var assignment: Set<KafkaPartition> { get }
  var lag: [KafkaPartition: Int64] { get }

  func subscribe() throws(KafkaError)
  func unsubscribe()
  func poll(timeout: Duration) -> KafkaPoll?
  func wake(by waker: ConsumerWaker?)
  func pause(_ partitions: [KafkaPartition])
  func resume(_ partitions: [KafkaPartition])
  func commit(_ offsets: [KafkaPartition: Int64])
  func commitNow(_ offsets: [KafkaPartition: Int64], timeout: Duration) throws(KafkaError)
  func giveUpRevoked()
  func measureLag()
  @discardableResult func close(timeout: Duration) -> Bool
}

/// Wakes whoever polls, when something arrives where nothing was: a consumer writes to the
/// descriptor, or calls.
package struct ConsumerWaker: Sendable {
  /// A non-blocking eventfd that outlives its use here.
  let descriptor: Int32
  package let call: @Sendable () -> Void

  package init(descriptor: Int32, call: @escaping @Sendable () -> Void) {
    self.descriptor = descriptor
    self.call = call
  }
}

/// Writes records, as workers need it: `KafkaProducer`, or one of a Kafka in memory.
/// `KafkaProducer` documents each requirement.
package protocol RecordProducer: AnyObject, Sendable {
  var fatalError: KafkaError? { get }

  func prepare(topics names: [String], spread: Set<String>, timeout: Duration) throws(KafkaError)
  func send(
    topic: String, partition: Int32?, key: [UInt8]?, value: [UInt8]?, headers: [KafkaHeader]
  ) async throws(KafkaError) -> KafkaDelivery
  func close(timeout: Duration)
}

extension RecordProducer {
  package func send(
    topic: String, key: [UInt8]?, value: [UInt8]?, headers: [KafkaHeader] = []
  ) async throws(KafkaError) -> KafkaDelivery {
    try await send(topic: topic, partition: nil, key: key, value: value, headers: headers)
  }
}

extension KafkaConsumer: GroupConsumer {
  package func wake(by waker: ConsumerWaker?) { wake(descriptor: waker?.descriptor) }
}

extension KafkaProducer: RecordProducer {}

/// Makes a worker's clients of Kafka.
package struct KafkaClients: Sendable {
  package var consumer:
    @Sendable (KafkaOptions, [String], @escaping KafkaLog) throws(KafkaError) -> any GroupConsumer
  package var producer:
    @Sendable (KafkaOptions, @escaping KafkaLog) throws(KafkaError) -> any RecordProducer

  package init(
    consumer:
      @escaping @Sendable (KafkaOptions, [String], @escaping KafkaLog) throws(KafkaError) ->
      any GroupConsumer,
    producer:
      @escaping @Sendable (KafkaOptions, @escaping KafkaLog) throws(KafkaError) ->
      any RecordProducer
  ) {
    self.consumer = consumer
    self.producer = producer
  }

  /// librdkafka's.
  package static let system = KafkaClients(
    consumer: { (options, topics, log) throws(KafkaError) in
      try KafkaConsumer(options, topics: topics, log: log)
    },
    producer: { (options, log) throws(KafkaError) in try KafkaProducer(options, log: log) })
}
