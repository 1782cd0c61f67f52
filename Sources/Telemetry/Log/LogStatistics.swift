/// Counts of a log so far.
package struct LogStatistics: Sendable, Equatable {
  /// Lines written, by level.
  package let written: [LogLevel: Int]
  /// Lines that the sink did not take.
  package let dropped: Int
  /// Repeats that were counted instead of written.
  package let suppressed: Int

  package init(written: [LogLevel: Int], dropped: Int = 0, suppressed: Int = 0) {
    self.written = written
    self.dropped = dropped
    self.suppressed = suppressed
  }
}
