import Threads

/// Lines that are opened on one thread and read on a loop's.
package final class SharedLines: Sendable {
  private let reader: ThreadLock<LineReader>

  package init(
    _ path: String, maximumLineBytes: Int, until signals: StopSignals
  ) throws(CommandFailure) {
    reader = ThreadLock(
      try LineReader.opened(path, maximumLineBytes: maximumLineBytes, until: signals))
  }

  package var number: Int { reader.withLock { $0.number } }

  package func next() throws(CommandFailure) -> LineReader.Line? {
    try reader.withLock { (reader) throws(CommandFailure) in try reader.nextLine() }
  }
}
