import Telemetry
import Threads

/// Spans that wait for the collector, of all lanes. It never makes anybody wait: what there is no
/// place for is dropped, and counted.
package final class SpanQueue: Sendable {
  /// As OpenTelemetry's own batch processors have it: some seconds of a worker whose fan-outs are
  /// all traced, and 4 MB at most.
  package static let maximum = 2_048
  /// The most that a span takes, with its texts.
  private static let spanBytes = 2_048
  package static let maximumBytes = maximum * spanBytes

  private let waiting = ThreadLock<[Span]>([])
  let counters: WorkerCounters

  package init(counters: WorkerCounters) { self.counters = counters }

  /// From any thread.
  package func add(_ spans: [Span]) {
    let dropped = waiting.withLock { waiting in
      let free = max(0, Self.maximum - waiting.count)
      waiting += spans.prefix(free)
      return spans.count - min(free, spans.count)
    }
    if dropped > 0 { counters.add(.spansDropped, dropped) }
  }

  package var count: Int { waiting.withLock { $0.count } }

  /// The oldest, `maximum` at most.
  func take(_ maximum: Int) -> [Span] {
    waiting.withLock { waiting in
      let taken = Array(waiting.prefix(maximum))
      waiting.removeFirst(taken.count)
      return taken
    }
  }
}
