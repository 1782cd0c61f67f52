import Telemetry
import Threads

/// Keeps the lines of a log.
package final class MemorySink: LogSink {
  private let kept = ThreadLock<[String]>([])

  package init() {}

  /// Without their line breaks.
  package var lines: [String] { kept.withLock { $0 } }
  package func removeAll() { kept.withLock { $0.removeAll() } }

  package func write(_ line: UnsafeRawBufferPointer) -> Bool {
    kept.withLock { $0.append(String(decoding: line.dropLast(), as: UTF8.self)) }
    return true
  }
}
