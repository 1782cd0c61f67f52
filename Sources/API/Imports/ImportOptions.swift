/// What imports may take.
package struct ImportOptions: Sendable {
  /// Of one body.
  package var maximumBytes = 1 << 30
  /// In this process: each keeps some MiB, and Redis busy.
  package var atOnce = 4
  /// From its head to its answer.
  package var timeout: Duration = .seconds(3600)
  /// Bytes a second: whoever sends more slowly would keep others out for as long as it likes.
  package var minimumRate = 16 << 10

  package init() {}
}
