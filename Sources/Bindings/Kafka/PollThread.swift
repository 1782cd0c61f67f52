import CRdKafka
import Synchronization
import Threads

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
