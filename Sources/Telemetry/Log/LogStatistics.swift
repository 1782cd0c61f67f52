/// What a log has done so far.
package struct LogStatistics: Sendable, Equatable {
  /// Lines written, by level.
  package let written: [LogLevel: Int]
  /// Lines that the sink did not take.
  package let dropped: Int
  /// Repeats that were counted instead of written.
  package let suppressed: Int
}
