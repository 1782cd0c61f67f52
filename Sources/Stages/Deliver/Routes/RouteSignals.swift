import EventLoop

/// What the parts of a route have to say to the whole, which sees to it that it is acted upon. None
/// of it is said for each push.
final class RouteSignals {
  private let loop: EventLoop
  private var isPumpScheduled = false
  private var isStopped = false
  /// Called at the end of a turn in which it was asked for.
  var pump: () -> Void = {}
  /// Called when pushes may have left the queues, or need no longer be waited for.
  var whenReadyMayHaveShrunk: () -> Void = {}
  /// Called when what stands in the way may have changed.
  var whenOpennessMayHaveChanged: () -> Void = {}

  init(loop: EventLoop) { self.loop = loop }

  func schedulePump() {
    guard !isPumpScheduled, !isStopped else { return }
    isPumpScheduled = true
    loop.atTurnEnd { [weak self] in
      self?.isPumpScheduled = false
      self?.pump()
    }
  }

  func stop() { isStopped = true }
}
