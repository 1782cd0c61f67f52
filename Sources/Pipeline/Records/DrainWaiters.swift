import EventLoop

/// Whoever waits for what is in flight to end. Confined to the pump's loop.
final class DrainWaiters {
  private let loop: EventLoop
  private var waiters: [CheckedContinuation<Void, Never>] = []

  init(loop: EventLoop) { self.loop = loop }

  var isEmpty: Bool { waiters.isEmpty }

  /// Returns when `resume` is called, after `timeout` at the latest.
  func wait(atMost timeout: Duration) async {
    let deadline = loop.schedule(after: timeout) { [weak self] in self?.resume() }
    await withCheckedContinuation { waiters.append($0) }
    deadline.cancel()
  }

  func resume() {
    let resumed = waiters
    waiters = []
    for continuation in resumed { continuation.resume() }
  }
}
