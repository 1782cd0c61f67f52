import Text
import Threads

/// How many imports may be under way at once, on all threads of the API together. One key has all
/// but one of them at most: whoever holds the others for long keeps out no other key.
final class ImportLimit: Sendable {
  let atOnce: Int
  let ofOneKey: Int
  private let running = ThreadLock<[ExactText: Int]>([:])

  init(_ atOnce: Int) {
    self.atOnce = atOnce
    ofOneKey = max(1, atOnce - 1)
  }

  /// Why no further one of this key may begin; nil: it has begun, and `release` is owed.
  func take(_ key: String) -> String? {
    running.withLock { running in
      guard running.values.reduce(0, +) < atOnce else {
        return "\(atOnce) imports are under way here"
      }
      guard running[ExactText(key), default: 0] < ofOneKey else {
        return "\(ofOneKey) imports of \(key) are under way here"
      }
      running[ExactText(key), default: 0] += 1
      return nil
    }
  }

  func release(_ key: String) {
    let key = ExactText(key)
    running.withLock { $0[key] = $0[key].flatMap { $0 > 1 ? $0 - 1 : nil } }
  }
}
