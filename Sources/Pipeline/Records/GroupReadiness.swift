import EventLoop
import Telemetry

/// Whether the group has given this worker partitions, and who is told. Confined to the pump's
/// loop.
final class GroupReadiness {
  /// A group takes its time to form, or has no partition left for us: an operator is told.
  private static let waitingLineInterval: Duration = .seconds(5)

  private let options: PipelineOptions
  private var isReady = false
  private var nextWaitingLine: UInt64 = 0

  init(options: PipelineOptions) { self.options = options }

  func begin() {
    guard !isReady else { return }
    isReady = true
    options.whenReady()
  }

  func end() {
    guard isReady else { return }
    isReady = false
    options.whenUnready()
  }

  /// Says now and then that there is nothing to do; not the first time.
  ///
  /// - Parameter now: monotonic nanoseconds.
  func sayThatWeWait(now: UInt64) {
    guard now >= nextWaitingLine else { return }
    if nextWaitingLine > 0 {
      options.log.info("waiting for partitions", ["group": .text(options.kafka.group)])
    }
    nextWaitingLine = now &+ Self.waitingLineInterval.nanoseconds
  }
}
