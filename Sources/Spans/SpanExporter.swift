import EventLoop
import Telemetry

/// Where spans go, and what is said of the process in them.
package struct SpanOptions: Sendable {
  package var document: OTLPDocument
  /// Sends a document and waits for the answer, at most for so long.
  package var send: @Sendable (_ document: String, _ timeout: Duration) async -> CollectorReply

  package init(
    document: OTLPDocument,
    send: @escaping @Sendable (_ document: String, _ timeout: Duration) async -> CollectorReply
  ) {
    self.document = document
    self.send = send
  }
}

/// Sends the queue's spans to the collector, a batch at a time, on a loop of its own: a collector
/// that is slow or away costs spans, and no push waits for it.
package actor SpanExporter {
  private static let interval: Duration = .seconds(1)
  private static let timeout: Duration = .seconds(5)
  /// A worker that stops waits no longer than this for the last batches.
  private static let lastTimeout: Duration = .seconds(2)

  private let options: SpanOptions
  package nonisolated let queue: SpanQueue
  private let log: Log
  private let loop: EventLoop
  /// 0..<1.
  private let randomFraction: @Sendable () -> Double
  /// It is to be sent again; nil: none is.
  private var batch: SpanBatch?
  /// Monotonic nanoseconds.
  private var notBefore: UInt64 = 0
  private var sending: Task<Void, Never>?
  private var isStopped = false

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  package init(
    _ options: SpanOptions, queue: SpanQueue, log: Log, loop: EventLoop,
    randomFraction: @escaping @Sendable () -> Double
  ) {
    self.options = options
    self.queue = queue
    self.log = log
    self.loop = loop
    self.randomFraction = randomFraction
  }

  /// Looks at the queue now and every second, until it is stopped.
  package func start() {
    guard !isStopped else { return }
    if sending == nil, loop.now >= notBefore {
      sending = loop.task(on: self) {
        await self.sendAll(timeout: Self.timeout)
        self.sending = nil
      }
    }
    loop.schedule(after: Self.interval) { [weak self] in
      self?.assumeIsolated { $0.start() }
    }
  }

  /// Sends what is left once, if the collector takes it, and ends the thread. What it does not take
  /// is dropped.
  package func stop() async {
    isStopped = true
    await sending?.value
    if batch == nil { await sendAll(timeout: Self.lastTimeout) }
    let left = (batch?.spans.count ?? 0) + queue.take(.max).count
    if left > 0 { queue.counters.add(.spansDropped, left) }
    loop.stop()
  }

  /// Returns when the queue is empty, or the collector asks for a pause.
  private func sendAll(timeout: Duration) async {
    while true {
      let spans = batch?.spans ?? queue.take(SpanBatch.maximum)
      guard !spans.isEmpty else { return }
      var current = batch ?? SpanBatch(spans)
      let reply = await options.send(options.document.text(of: spans), timeout)
      switch current.take(reply, fraction: randomFraction()) {
      case .taken(let refused, let why):
        batch = nil
        queue.counters.add(.spansExported, spans.count - refused)
        if refused > 0 { drop(refused, why ?? "it does not say why") }
      case .dropped(let why):
        batch = nil
        drop(spans.count, why)
      case .later(let delay, let why):
        batch = current
        notBefore = loop.now &+ delay.nanoseconds
        log.notice("the collector of traces takes no spans now", ["error": .text(why)])
        return
      }
    }
  }

  private func drop(_ count: Int, _ why: String) {
    queue.counters.add(.spansDropped, count)
    log.warning(
      "spans are dropped: the collector of traces does not take them",
      ["spans": .integer(count), "error": .text(why)])
  }
}
