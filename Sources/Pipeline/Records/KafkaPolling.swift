import EventLoop
import Kafka

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
  func start(
    _ handle: @escaping (KafkaPoll) -> Void, everyInterval: @escaping () -> Void
  ) throws {
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
