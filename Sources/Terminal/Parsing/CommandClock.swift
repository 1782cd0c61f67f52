/// The times that verbs go by.
package struct CommandClock: Sendable {
  /// Since 1970.
  let wallMilliseconds: @Sendable () -> Int64
  let monotonicNanoseconds: @Sendable () -> UInt64

  package init(
    wallMilliseconds: @escaping @Sendable () -> Int64,
    monotonicNanoseconds: @escaping @Sendable () -> UInt64
  ) {
    self.wallMilliseconds = wallMilliseconds
    self.monotonicNanoseconds = monotonicNanoseconds
  }
}
