/// Waits for answers that come by callbacks. Each comes in the time that a command has, or says by
/// then that it will not. Confined to one lane.
final class Countdown {
  private var left: Int
  private var continuation: CheckedContinuation<Void, Never>?

  init(of count: Int) { left = count }

  /// One answer has come, or will not.
  func arrive() {
    assert(left > 0, "more answers than questions")
    left -= 1
    guard left == 0 else { return }
    continuation?.resume()
    continuation = nil
  }

  /// Returns when all have; once.
  func wait() async {
    assert(continuation == nil, "somebody waits already")
    guard left > 0 else { return }
    await withCheckedContinuation { continuation = $0 }
  }
}
