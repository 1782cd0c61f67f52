import CRdKafka
import Glibc
import Synchronization
import Threads

/// Serves a client's callbacks from a thread of its own until told to stop.
///
/// `@unchecked Sendable`: the client handle is librdkafka's, which is safe from any thread; its
/// owner destroys it only after `stop` has joined the thread. The rest is atomic or immutable.
final class PollThread: @unchecked Sendable {
  private let client: OpaquePointer
  private let stopping = Atomic<Bool>(false)
  private let thread = ThreadLock<pthread_t?>(nil)

  init(_ client: OpaquePointer) { self.client = client }

  func start() throws(KafkaError) {
    // Released by the thread when it ends, or below when it does not begin.
    let retained = Unmanaged.passRetained(self)
    var identifier: pthread_t = 0
    let result = pthread_create(&identifier, nil, runPollThread, retained.toOpaque())
    guard result == 0 else {
      retained.release()
      throw KafkaError(
        code: .other, message: "no thread can be started for Kafka; raise the process limit",
        cause: "pthread_create: error \(result)")
    }
    thread.withLock { $0 = identifier }
  }

  /// Returns when the thread has ended, after a tenth of a second at most.
  func stop() {
    stopping.store(true, ordering: .releasing)
    let running = thread.withLock { identifier in
      defer { identifier = nil }
      return identifier
    }
    if let running { pthread_join(running, nil) }
  }

  fileprivate func run() {
    while !stopping.load(ordering: .acquiring) { rd_kafka_poll(client, 100) }
  }
}

private func runPollThread(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let pointer else { return nil }
  let thread = Unmanaged<PollThread>.fromOpaque(pointer)
  thread.takeUnretainedValue().run()
  // Balances passRetained in `start`.
  thread.release()
  return nil
}
