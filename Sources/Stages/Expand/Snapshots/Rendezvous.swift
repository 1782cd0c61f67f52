/// Waits for answers that come by callbacks. Confined to one lane.
final class Rendezvous {
  private var open: Int
  private var continuation: CheckedContinuation<Void, Never>?

  /// - Parameter open: how often `leave` is called.
  init(_ open: Int) { self.open = open }

  func leave() {
    open -= 1
    guard open == 0 else { return }
    continuation?.resume()
    continuation = nil
  }

  /// By one.
  func wait() async {
    guard open > 0 else { return }
    await withCheckedContinuation { continuation = $0 }
  }
}
