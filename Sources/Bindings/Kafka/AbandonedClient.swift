import CRdKafka
import Threads

/// A consumer whose commits no broker answers. librdkafka destroys it only when they have timed
/// out, which takes `session.timeout.ms` and longer: a thread of its own waits for that.
///
/// `@unchecked Sendable`: its maker gives client and state up, and the thread is all that touches
/// them from then on.
final class AbandonedClient: @unchecked Sendable {
  private let client: OpaquePointer
  private let state: ConsumerState
  private let lagReader: LagReader

  init(_ client: OpaquePointer, _ state: ConsumerState, _ lagReader: LagReader) {
    self.client = client
    self.state = state
    self.lagReader = lagReader
  }

  func destroy() {
    lagReader.stop()
    rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
    // No callback can come any more.
    state.release()
  }

  /// Returns at once; without a thread to be had it blocks until the client is destroyed.
  func destroyInBackground() {
    if let thread = SystemThread({ self.destroy() }) { thread.detach() } else { destroy() }
  }
}
