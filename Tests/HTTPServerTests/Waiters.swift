/// Answers that wait until they are let go.
actor Waiters {
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var watching: [CheckedContinuation<Void, Never>] = []
  private var news = 0

  func wait() async {
    news += 1
    for watcher in watching { watcher.resume() }
    watching = []
    await withCheckedContinuation { waiting.append($0) }
  }

  /// Returns once for each that waits.
  func somebodyWaits() async {
    while news == 0 { await withCheckedContinuation { watching.append($0) } }
    news -= 1
  }

  func letGo() {
    for waiter in waiting { waiter.resume() }
    waiting = []
  }
}
