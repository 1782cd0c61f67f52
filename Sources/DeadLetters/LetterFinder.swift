import Kafka
import Threads

/// Looks through scans on threads of its own: a text is looked for in up to 40 MiB, and no loop may
/// stand still for so long. A few searches run at a time, and others wait for their turn. Any
/// thread may ask.
package final class LetterFinder: Sendable {
  private struct State {
    var running = 0
    /// In the order in which they came.
    var waiting: [CheckedContinuation<Bool, Never>] = []
  }

  private let atOnce: Int
  private let maximumWaiting: Int
  private let state = ThreadLock(State())

  /// - Parameters:
  ///   - atOnce: searches that run at a time. Each keeps a core busy.
  ///   - maximumWaiting: searches that wait. A search takes a fraction of a second, so that the
  ///     last one waits for a few seconds.
  package init(atOnce: Int = 2, maximumWaiting: Int = 16) {
    self.atOnce = atOnce
    self.maximumWaiting = maximumWaiting
  }

  /// The letters of a scan that a filter means. Throws `busy` where too many searches wait.
  /// - Parameter marks: what was done to the scan's letters.
  package func find(
    _ filter: LetterFilter, in scan: LetterScan, marks: [LetterID: LetterMark]
  ) async throws(DeadLettersError) -> LetterSearch {
    try await run { LetterSearch(scan, filter, marks) }
  }

  /// The result of `body`, which may take long, and which has a thread to itself.
  func run<Result: Sendable>(
    _ body: @escaping @Sendable () -> Result
  ) async throws(DeadLettersError) -> Result {
    try await begin()
    defer { end() }
    do throws(KafkaError) {
      return try await BlockingCall.run { () throws(KafkaError) in body() }
    } catch {
      throw .kafka(error)
    }
  }

  /// Returns when it is the caller's turn; `end` is owed then.
  private func begin() async throws(DeadLettersError) {
    let isTurn = await withCheckedContinuation { (caller: CheckedContinuation<Bool, Never>) in
      let answer: Bool? = state.withLock { state in
        if state.running < atOnce {
          state.running += 1
          return true
        }
        guard state.waiting.count < maximumWaiting else { return false }
        state.waiting.append(caller)
        return nil
      }
      if let answer { caller.resume(returning: answer) }
    }
    guard isTurn else { throw .busy }
  }

  private func end() {
    let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.running -= 1
      return nil
    }
    next?.resume(returning: true)
  }

  /// Searches that wait for their turn.
  var waitingCount: Int { state.withLock { $0.waiting.count } }
}
