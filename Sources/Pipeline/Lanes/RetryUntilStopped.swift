import EventLoop
import Kafka
import Model
import Record
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

/// Timers of a lane or the pump that end early when it stops: nobody is left waiting on a loop that
/// runs no more. Confined to its loop.
final class CancellableTimers {
  private struct Wait {
    let continuation: CheckedContinuation<Void, Never>
    let timer: LoopTimer
  }

  private let loop: EventLoop
  private var waits: [Int: Wait] = [:]
  private var lastNumber = 0
  private(set) var isStopped = false

  init(loop: EventLoop) { self.loop = loop }

  /// Returns after `duration`, or when `stop` is called, or at once when it has stopped.
  func wait(_ duration: Duration) async {
    guard !isStopped else { return }
    lastNumber += 1
    let number = lastNumber
    await withCheckedContinuation { continuation in
      let timer = loop.schedule(after: duration) { [weak self] in self?.end(number) }
      waits[number] = Wait(continuation: continuation, timer: timer)
    }
  }

  func stop() {
    isStopped = true
    for number in waits.keys.sorted() { end(number) }
  }

  private func end(_ number: Int) {
    guard let wait = waits.removeValue(forKey: number) else { return }
    wait.timer.cancel()
    wait.continuation.resume()
  }
}

/// A dependency that is waited for at the moment.
struct DependencyWait: Sendable, Equatable {
  /// Which one it is: a label of metrics, so that an alert can name it.
  enum Cause: String, Sendable, CaseIterable {
    case redis
    case kafka
    case deadLetters = "dead_letters"
    /// Our clock and Redis' differ over whether an event has expired.
    case clock
  }

  let cause: Cause
  /// The retried work, behind "to"; nil where it is everything.
  let what: String?
  /// Why it has not succeeded yet.
  let reason: String

  init(cause: Cause, to what: String? = nil, text reason: String) {
    self.cause = cause
    self.what = what
    self.reason = reason
  }

  /// In words for an operator.
  var text: String { what.map { "to \($0): \(reason)" } ?? reason }

  /// All of them in words, each reason once, and none that is `told` elsewhere.
  static func words(_ waits: [DependencyWait], told: [String]) -> [String] {
    var reasons: [String] = []
    for wait in waits where !reasons.contains(wait.reason) { reasons.append(wait.reason) }
    return reasons.map { reason in
      let tried = waits.filter { $0.reason == reason }.compactMap(\.what).map { "to \($0)" }
      let isTold = told.contains { reason.contains($0) }
      let names = tried.joined(separator: ", ")
      if isTold && !names.isEmpty { return names }
      return names.isEmpty ? reason : "\(names): \(reason)"
    }
  }
}

extension DependencyWait.Cause {
  /// The dependency that answered with the error; whatever is not Kafka's came from Redis.
  init(of error: any Error) {
    switch error {
    case is KafkaError: self = .kafka
    case let error as RecordError where error.code.isOfClocks: self = .clock
    default: self = .redis
    }
  }
}

/// The dependencies that a lane waits for at the moment, for the heartbeat and for metrics.
/// Confined to its lane.
final class WaitBoard {
  private var waits: [Int: DependencyWait] = [:]
  private var lastNumber = 0

  /// Each once, in the order in which the waits began.
  var all: [DependencyWait] {
    waits.sorted { $0.key < $1.key }.reduce(into: []) { all, item in
      if !all.contains(item.value) { all.append(item.value) }
    }
  }

  func begin() -> Int {
    lastNumber += 1
    return lastNumber
  }

  func say(_ number: Int, _ cause: DependencyWait.Cause, to what: String, _ reason: String) {
    waits[number] = DependencyWait(cause: cause, to: what, text: reason)
  }

  func end(_ number: Int) { waits[number] = nil }
}
