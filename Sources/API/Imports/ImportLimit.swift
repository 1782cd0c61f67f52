import Threads

/// How many imports may be under way at once, on all threads of the API together.
final class ImportLimit: Sendable {
  let atOnce: Int
  private let running = ThreadLock(0)

  init(_ atOnce: Int) { self.atOnce = atOnce }

  /// - Returns: whether one more may begin; then `release` is owed.
  func take() -> Bool {
    running.withLock { running in
      guard running < atOnce else { return false }
      running += 1
      return true
    }
  }

  func release() { running.withLock { $0 -= 1 } }
}
