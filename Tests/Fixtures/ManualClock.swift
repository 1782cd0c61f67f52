import Synchronization

/// The time, in ms since 1970, as a test sets it.
package final class ManualClock: Sendable {
  package let milliseconds = Atomic<Int64>(1_700_000_000_000)

  package init() {}

  package func advance(_ by: Int64) { milliseconds.wrappingAdd(by, ordering: .relaxed) }
}
