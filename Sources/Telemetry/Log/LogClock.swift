/// The times a log needs; a test passes its own.
package struct LogClock: Sendable {
  let wallMilliseconds: @Sendable () -> Int64
  let monotonicNanoseconds: @Sendable () -> UInt64

  package init(
    wallMilliseconds: @escaping @Sendable () -> Int64,
    monotonicNanoseconds: @escaping @Sendable () -> UInt64
  ) {
    self.wallMilliseconds = wallMilliseconds
    self.monotonicNanoseconds = monotonicNanoseconds
  }

  package static let system = LogClock(
    wallMilliseconds: { WallClock.nowMilliseconds() },
    monotonicNanoseconds: { MonotonicClock.nowNanoseconds() })
}
