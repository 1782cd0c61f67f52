import EventLoop
import Ingest
import Kafka
import Model

/// Writes a lane's records to Kafka. Confined to its lane.
final class RecordWriter {
  private let loop: EventLoop
  private let producer: any RecordProducer
  private let retry: RetryUntilStopped

  init(loop: EventLoop, producer: any RecordProducer, retry: RetryUntilStopped) {
    self.loop = loop
    self.producer = producer
    self.retry = retry
  }

  /// Waits as long as Kafka does not take the record, whatever the reason: giving up would lose it.
  /// Only a record that is too large comes back as an error.
  func publish(
    _ topic: String, _ key: [UInt8]?, _ value: [UInt8]?, _ headers: [KafkaHeader]
  ) async throws {
    _ = try await retry.run(
      "write to \(topic) in Kafka",
      isTransient: { (error: KafkaError, _) in error.code != .tooLarge },
      call: { () async throws(KafkaError) in
        try await producer.send(topic: topic, key: key, value: value, headers: headers)
      })
  }

  /// Writes records together. As long as Kafka does not take one of them all are written again,
  /// until they are of no use any more.
  func publishAll(
    _ topic: String, _ records: [(key: [UInt8], value: [UInt8])], isOver: () -> Bool
  ) async throws {
    guard !records.isEmpty else { return }
    _ = try await retry.run(
      "write to \(topic) in Kafka",
      isTransient: { (error: KafkaError, waited) in
        error.code != .tooLarge && !(waited >= RetryUntilStopped.grace && isOver())
      },
      call: { () async throws(KafkaError) in
        if let failure = await failure(of: records, topic) { throw failure }
      })
  }

  private func failure(
    of records: [(key: [UInt8], value: [UInt8])], _ topic: String
  ) async -> KafkaError? {
    let producer = producer
    return await withTaskGroup(of: KafkaError?.self) { group in
      for (key, value) in records {
        group.addTask {
          do throws(KafkaError) {
            _ = try await producer.send(topic: topic, key: key, value: value, headers: [])
            return nil
          } catch {
            return error
          }
        }
      }
      return await group.reduce(nil) { $0 ?? $1 }
    }
  }

  /// Writes records of one event together, and waits for all of them.
  func publish(
    _ topic: String, _ records: [(key: [UInt8], value: [UInt8])], of event: Event,
    isolation: isolated any Actor = #isolation
  ) async throws {
    let headers = EventOrigin(of: event).headers
    let tasks = records.map { begin(topic, $0.key, $0.value, headers, isolation) }
    for task in tasks { try await task.value }
  }

  private func begin(
    _ topic: String, _ key: [UInt8], _ value: [UInt8], _ headers: [KafkaHeader],
    _ lane: isolated any Actor
  ) -> Task<Void, any Error> {
    loop.task(on: lane) { try await self.publish(topic, key, value, headers) }
  }
}
