/// The time and the numbers of a Kafka in memory: whoever runs it gives both, and nothing in it
/// asks the system for either.
package struct MemoryTime {
  /// Monotonic nanoseconds.
  package var now: () -> UInt64
  /// Ms since 1970, for the timestamps of records.
  package var wallClock: () -> Int64
  /// Runs the closure once after the time, on the same thread, and never inside the call.
  package var schedule: (Duration, @escaping () -> Void) -> Void
  /// The next number of a seeded generator.
  package var random: () -> UInt64

  package init(
    now: @escaping () -> UInt64, wallClock: @escaping () -> Int64,
    schedule: @escaping (Duration, @escaping () -> Void) -> Void,
    random: @escaping () -> UInt64
  ) {
    self.now = now
    self.wallClock = wallClock
    self.schedule = schedule
    self.random = random
  }
}

extension MemoryTime {
  /// Runs the closure when `now` reaches a time.
  func schedule(at due: UInt64, _ body: @escaping () -> Void) {
    let now = now()
    schedule(.nanoseconds(due > now ? due - now : 0), body)
  }

  func coin() -> Bool { random() & 1 == 1 }
}

extension Duration {
  /// Whole nanoseconds; 0 for a negative duration, and at most some 290 years.
  var wholeNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    return UInt64(min(seconds, 9_000_000_000)) * 1_000_000_000
      + UInt64(attoseconds / 1_000_000_000)
  }
}
