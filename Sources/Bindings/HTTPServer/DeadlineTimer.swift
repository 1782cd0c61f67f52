import EventLoop

/// A deadline that is put off with each request: it is looked at now and then, so that most changes
/// need no timer of their own. Confined to its loop.
final class DeadlineTimer {
  private let loop: EventLoop
  /// The longest that a timer of the loop is set for.
  private let interval: UInt64
  private var deadline: UInt64 = 0
  private var timer: LoopTimer?
  private var timerDue: UInt64 = 0
  var whenOver: () -> Void = {}

  init(loop: EventLoop, interval: Duration) {
    self.loop = loop
    self.interval = interval.nanoseconds
  }

  func set(after wait: Duration) { set(at: loop.now &+ wait.nanoseconds) }

  /// - Parameter moment: monotonic nanoseconds.
  func set(at moment: UInt64) {
    deadline = moment
    let due = min(moment, loop.now &+ interval)
    guard timer == nil || timerDue > due else { return }
    timer?.cancel()
    timerDue = due
    let wait = due > loop.now ? due - loop.now : 0
    timer = loop.schedule(after: .nanoseconds(Int64(clamping: wait))) { [weak self] in
      self?.fired()
    }
  }

  func cancel() {
    timer?.cancel()
    whenOver = {}
  }

  private func fired() {
    timer = nil
    guard loop.now >= deadline else { return set(at: deadline) }
    whenOver()
  }
}
