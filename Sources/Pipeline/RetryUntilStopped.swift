import Redis
import Telemetry

/// Waits out a dependency that is down: repeats a call until it works, the worker stops, or the
/// error is one that waiting does not mend. Says so in the log, where repetitions are limited, and
/// on the lane's board.
///
/// Once the worker stops there is one call more, also for what begins then: what is nearly done,
/// such as a segment whose counters Redis would not take so far, need not be done by another worker
/// again.
struct RetryUntilStopped {
  /// Thrown when the worker stops while waiting; the record stays uncommitted and another takes it.
  struct Stopped: Error {}

  let timers: CancellableTimers
  let log: Log
  var board = WaitBoard()
  var initial: Duration = .milliseconds(100)
  var maximum: Duration = .seconds(5)
  /// Whether there is that last call. Not where another worker may be making it already.
  var hasLastCall = true

  /// - Parameter isTransient: whether the error may go away by itself.
  func run<T, E: Error>(
    _ what: String, isTransient: (E) -> Bool, call: () async throws(E) -> T
  ) async throws -> T {
    var delay = initial
    let number = board.begin()
    defer { board.end(number) }
    while true {
      do {
        return try await call()
      } catch {
        guard isTransient(error) else { throw error }
        guard !timers.isStopped else { throw Stopped() }
        log.warning("waiting: \(what)", ["error": .text("\(error)")])
        board.say(number, "\(what): \(error)")
        await timers.wait(delay / 2 + delay / 2 * Double.random(in: 0...1))
        guard hasLastCall || !timers.isStopped else { throw Stopped() }
        delay = min(delay * 2, maximum)
      }
    }
  }

  /// Repeats what fails with an error that says that waiting may mend it.
  func persistent<T>(_ what: String, _ call: () async throws -> T) async throws -> T {
    try await run(
      what, isTransient: { ($0 as? any TransientError)?.isTransient ?? false }, call: call)
  }
}
