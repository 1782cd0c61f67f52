import EventLoop
import Kafka
import Telemetry

@testable import Pipeline

extension LaneContext {
  /// Of the first lane.
  convenience init(
    _ options: PipelineOptions, _ loop: EventLoop, _ producer: any RecordProducer = NoProducer()
  ) {
    self.init(
      index: 0, options: options, loop: loop, producer: producer, counters: WorkerCounters())
  }
}

/// For tests that write nothing to Kafka.
final class NoProducer: RecordProducer {
  let fatalError: KafkaError? = nil

  func prepare(
    topics names: [String], spread: Set<String>, timeout: Duration
  ) throws(KafkaError) {}

  func send(
    topic: String, partition: Int32?, key: [UInt8]?, value: [UInt8]?, headers: [KafkaHeader]
  ) async throws(KafkaError) -> KafkaDelivery {
    throw KafkaError(code: .unreachable, message: "there is no Kafka")
  }

  func close(timeout: Duration) {}
}
