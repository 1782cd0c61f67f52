import Model
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
  /// 0..<1, for the jitter.
  let randomFraction: () -> Double
  var board = WaitBoard()
  var initial: Duration = .milliseconds(100)
  var maximum: Duration = .seconds(5)
  /// Whether there is that last call. Not where another worker may be making it already.
  var hasLastCall = true
  /// Whether nothing of an event is of use any more.
  var isExpired: (Event) -> Bool = { _ in false }
  /// Gets what came on a connection that is not to be used again.
  var distrust: (String) -> Void = { _ in }
  /// How long an error that nobody knows is waited for at the least: the event may have expired
  /// when it comes first, and then its counters are still to be written.
  static let grace: Duration = .seconds(30)

  /// - Parameters:
  ///   - what: what is tried, behind "to": "write counters to Redis".
  ///   - isTransient: whether the error may go away by itself, after so long a wait.
  func run<T, E: Error>(
    _ what: String, isTransient: (E, Duration) -> Bool, call: () async throws(E) -> T
  ) async throws -> T {
    var delay = initial
    var waited: Duration = .zero
    let number = board.begin()
    defer { board.end(number) }
    while true {
      do {
        return try await call()
      } catch {
        guard isTransient(error, waited) else { throw error }
        guard !timers.isStopped else { throw Stopped() }
        log.warning("waiting to \(what)", ["error": .text("\(error)")])
        board.say(number, .init(of: error), to: what, "\(error)")
        waited += delay
        await timers.wait(delay / 2 + delay / 2 * randomFraction())
        guard hasLastCall || !timers.isStopped else { throw Stopped() }
        delay = min(delay * 2, maximum)
      }
    }
  }

  /// Repeats what fails with an error that says that waiting may mend it; where it can only guess,
  /// until the event expires, and for `grace` at the least.
  func persistent<T>(
    _ what: String, for event: Event, grace: Duration = grace, _ call: () async throws -> T
  ) async throws -> T {
    try await persistent(what, grace: grace, isOver: { isExpired(event) }, call)
  }

  /// As above for what is no event's.
  /// - Parameter isOver: whether it is of no use any more.
  func persistent<T>(
    _ what: String, grace: Duration = grace, isOver: () -> Bool, _ call: () async throws -> T
  ) async throws -> T {
    try await run(
      what,
      isTransient: { error, waited in
        guard let error = error as? any TransientError, error.isTransient else { return false }
        if error.isOutOfStep { distrust("\(error)") }
        return !(error.isUncertain && waited >= grace && isOver())
      }, call: call)
  }
}
