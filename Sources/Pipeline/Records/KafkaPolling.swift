import EventLoop
import Kafka
import Telemetry

/// The turns in which Kafka is polled: when there is something, and now and then in any case.
/// Confined to the pump's loop.
final class KafkaPolling {
  /// A poll at least this often, whatever the wake-ups say: it is what keeps us in the group.
  private static let interval: Duration = .milliseconds(100)
  /// Polls in one turn of the loop, which others need too.
  private static let pollsInATurn = 64

  private let consumer: any GroupConsumer
  private let loop: EventLoop
  private var handle: (KafkaPoll) -> Void = { _ in }
  private var everyInterval: () -> Void = {}
  private var waker: LoopWaker?
  private var isStopped = false

  init(consumer: any GroupConsumer, loop: EventLoop) {
    self.consumer = consumer
    self.loop = loop
  }

  /// Subscribes, and polls from now on.
  func start(_ handle: @escaping (KafkaPoll) -> Void, everyInterval: @escaping () -> Void) throws {
    self.handle = handle
    self.everyInterval = everyInterval
    let waker = try LoopWaker(loop: loop) { [weak self] in self?.poll() }
    self.waker = waker
    consumer.wake(by: ConsumerWaker(descriptor: waker.descriptor) { waker.call() })
    try consumer.subscribe()
    turn()
  }

  private func turn() {
    guard !isStopped else { return }
    poll()
    everyInterval()
    loop.schedule(after: Self.interval) { [weak self] in self?.turn() }
  }

  func poll() {
    guard !isStopped else { return }
    // The wake-up is asked for again when there was more.
    for _ in 0..<Self.pollsInATurn {
      guard let polled = consumer.poll(timeout: .zero) else { return }
      handle(polled)
    }
    waker?.wake()
  }

  func stop() { isStopped = true }

  /// When the consumer is closed, which wakes us until then.
  func close() { waker?.close() }
}

/// Whether Kafka can be reached and its client can go on. Confined to the pump's loop.
final class KafkaHealth {
  private let options: PipelineOptions
  /// No broker can be reached.
  private var isAway = false
  private var hasFailed = false
  /// The permission that our user lacks, in words, until records or partitions come again.
  private var isForbidden: String?

  init(options: PipelineOptions) { self.options = options }

  /// In words; nil when a broker can be reached and nothing is forbidden.
  var obstacle: String? {
    isAway
      ? "kafka: no broker of \(options.kafka.bootstrapServers) can be reached"
      : isForbidden.map { "kafka: \($0)" }
  }

  /// Takes an answer of Kafka.
  func observe(_ polled: KafkaPoll) {
    switch polled {
    // Records and partitions arrive only when nothing is forbidden any more.
    case .message, .assigned: isForbidden = nil
    case .commitFailed(_, let error), .error(let error): check(error)
    case .reachable(let isReachable): reaches(isReachable)
    case .revoking, .revoked, .lost, .committed, .end, .skipped: return
    }
  }

  /// Notes an outage, or its end. Meanwhile nothing comes in or is committed; senders wait by
  /// themselves.
  func reaches(_ isReachable: Bool) {
    let waited = isAway
    isAway = !isReachable
    if isAway {
      options.log.warning(
        "waiting for Kafka: no broker can be reached",
        ["servers": .text(options.kafka.bootstrapServers)])
    } else if waited {
      options.log.notice("Kafka can be reached again")
    }
  }

  /// A client that is beyond repair consumes nothing and says nothing more: the process ends, and
  /// whoever runs it starts another.
  func check(_ error: KafkaError) {
    if [.authorization, .unknownTopic].contains(error.code) { isForbidden = "\(error)" }
    guard error.isFatal, !hasFailed else { return }
    hasFailed = true
    options.log.error("the Kafka client cannot go on", ["error": .text("\(error)")])
    options.whenFailed("\(error)")
  }
}

extension Log {
  /// A line of librdkafka's.
  func kafka(_ line: KafkaLogLine) {
    let level: LogLevel =
      switch line.level {
      case .error: .error
      case .warning: .warning
      case .notice: .notice
      case .info: .info
      case .debug: .debug
      }
    log(level, "librdkafka: \(line.message)", ["facility": .text(line.facility)])
  }
}
