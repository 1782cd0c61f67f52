import Text
import Threads

/// Event streams that keys have open, of all threads together, so that no key keeps the others
/// out.
final class StreamLimit: Sendable {
  /// A page of the dashboard has two.
  private static let least = 2

  let ofOneKey: Int
  private let open = ThreadLock<[ExactText: Int]>([:])

  /// - Parameter maximum: streams of all keys: one of them may have a quarter, and at least two.
  init(maximum: Int) { ofOneKey = max(Self.least, maximum / 4) }

  /// Why no further one of this key may begin; nil: it has begun, and `release` is owed.
  func take(_ key: String) -> String? {
    let name = ExactText(key)
    return open.withLock { open in
      guard open[name, default: 0] < ofOneKey else {
        return "\(ofOneKey) event streams of \(key) are open here, as many as one key may have"
      }
      open[name, default: 0] += 1
      return nil
    }
  }

  func release(_ key: String) {
    let name = ExactText(key)
    open.withLock { $0[name] = $0[name].flatMap { $0 > 1 ? $0 - 1 : nil } }
  }
}
