import Telemetry

/// Waits out a dependency that is down: repeats a call until it works, the worker stops, or the
/// error is one that waiting does not mend. Says so in the log, where repetitions are limited, and
/// on the lane's board.
///
/// Once the worker stops, nothing is repeated. A first call is made even then: what is nearly done,
/// such as a segment that is to be settled, need not be done by another worker again.
struct RetryUntilStopped {
  /// Thrown when the worker stops while waiting; the record stays uncommitted and another takes it.
  struct Stopped: Error {}

  let timers: CancellableTimers
  let log: Log
  var board = WaitBoard()
  var initial: Duration = .milliseconds(100)
  var maximum: Duration = .seconds(5)

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
        guard !timers.isStopped else { throw Stopped() }
        delay = min(delay * 2, maximum)
      }
    }
  }
}
