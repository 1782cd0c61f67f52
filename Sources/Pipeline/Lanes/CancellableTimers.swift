import EventLoop

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
