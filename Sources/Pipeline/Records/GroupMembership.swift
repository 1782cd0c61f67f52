import EventLoop
import Kafka
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

/// Partitions that the group wants back and that we keep until their runs are done, or until it has
/// waited long enough. Confined to the pump's loop.
final class Revocation {
  private let loop: EventLoop
  /// How long the group is kept waiting.
  private let timeout: Duration
  private(set) var partitions: Set<KafkaPartition> = []
  private var deadline: LoopTimer?

  init(loop: EventLoop, timeout: Duration) {
    self.loop = loop
    self.timeout = timeout
  }

  func begin(_ partitions: Set<KafkaPartition>, whenTimeIsOver giveUp: @escaping () -> Void) {
    self.partitions = partitions
    deadline = loop.schedule(after: timeout, giveUp)
  }

  /// Whether there is something to give up, and nothing of it runs.
  func isDone(_ running: RunningRecords) -> Bool {
    !partitions.isEmpty && !running.contains(anyOf: partitions)
  }

  /// Whether there was something to give up.
  func end() -> Bool {
    guard !partitions.isEmpty else { return false }
    partitions = []
    deadline?.cancel()
    return true
  }

  /// They are another member's.
  func revoked(_ gone: Set<KafkaPartition>) {
    partitions.subtract(gone)
    if partitions.isEmpty { deadline?.cancel() }
  }
}

/// A worker whose clock is ahead of Redis' cannot do what it calls expired and Redis does not: it
/// leaves its group, so that others do, until the clocks agree. As long as they do not, it tries
/// again now and then: it may be Redis' clock that is wrong. It does not ask whether there are
/// others: where there are none, events wait in Kafka until it comes back, which it says, and no
/// offset is lost. Confined to the pump's loop.
final class ClockAbsence {
  /// Each return costs the group a rebalance, or two.
  static let shortest: Duration = .seconds(60)
  static let longest: Duration = .seconds(15 * 60)

  private let log: Log
  private let loop: EventLoop
  private let consumer: any GroupConsumer
  private let shortest: Duration
  private var duration: Duration
  /// Of its return.
  private var timer: LoopTimer?
  /// Monotonic nanoseconds when it came back last.
  private var returned: UInt64 = 0
  /// Why this worker is not in its group, in words; nil while it is.
  private(set) var obstacle: String?

  init(
    options: PipelineOptions, loop: EventLoop, consumer: any GroupConsumer,
    shortest: Duration = shortest
  ) {
    self.shortest = shortest
    duration = shortest
    log = options.log
    self.loop = loop
    self.consumer = consumer
  }

  /// - Parameter ahead: of Redis' clock.
  func begin(ahead: Duration, _ why: String) {
    guard obstacle == nil else { return }
    // Longer and longer, as long as it does not go well for as long as it was away.
    let wasWell = returned == 0 || loop.now &- returned > duration.nanoseconds
    duration = wasWell ? shortest : min(duration * 2, Self.longest)
    let seconds = Int(ahead.components.seconds)
    obstacle = "this worker's clock is \(seconds) s ahead of Redis': set the clocks (NTP)"
    log.error(
      "this worker's clock is ahead of Redis', whose time counts: it gives its partitions up, and "
        + "events wait where it is the only worker; set the clocks (NTP)",
      [
        "seconds": .integer(seconds), "comes_back_after": .text("\(duration)"),
        "error": .text(why),
      ])
    consumer.unsubscribe()
    timer = loop.schedule(after: duration) { [weak self] in self?.end() }
  }

  /// Somebody may have set the clocks meanwhile.
  /// - Parameter ahead: of Redis' clock, now.
  func compared(ahead: Duration) {
    guard timer != nil, ahead < Self.shortest else { return }
    end()
  }

  /// The worker ends: it does not come back.
  func stop() {
    timer?.cancel()
    timer = nil
  }

  private func end() {
    stop()
    obstacle = nil
    returned = loop.now
    do {
      try consumer.subscribe()
    } catch {
      log.warning("the group is not joined", ["error": .text("\(error)")])
    }
  }
}
